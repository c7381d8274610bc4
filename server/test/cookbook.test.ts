import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  canRunWalkthrough,
  normalized,
  pattern,
  readSteps,
  root,
  startWalkthrough,
  type Walkthrough,
} from './walkthrough.ts'

const guideText = (name: string) => readFile(join(root, 'docs/guides', `${name}.md`), 'utf8')
const text = await guideText('cookbook')
const steps = readSteps(text)

/**
 * Guides whose commands are run too, each with an organization of its own. The first organization of a service is that of
 * its operator, and only there an owner reads the links of invitations.
 */
const guides = ['permissions', 'deals', 'feed', 'next-actions', 'properties', 'search', 'tasks']

let walk: Walkthrough
beforeAll(async () => {
  if (canRunWalkthrough) walk = await startWalkthrough('node bin/rapport.js start')
})
afterAll(() => walk?.stop())

test('the cookbook has twenty numbered calls, each with commands and a response', () => {
  const numbers = [...text.matchAll(/^### (\d+)\. /gm)].map(([, number]) => Number(number))
  expect(numbers).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
  // The first step is the preparation.
  expect(steps).toHaveLength(21)
  expect(steps.filter(({ expected }) => expected === '')).toEqual([])
})

test.skipIf(!canRunWalkthrough).each(guides)(
  'every command of the guide %s gets the response shown',
  { timeout: 120_000 },
  async (name) => {
    const guideSteps = readSteps(await guideText(name))
    const outputs = await walk.run(guideSteps)
    expect(outputs).toHaveLength(guideSteps.length)
    expect(guideSteps.length).toBeGreaterThan(3)
    for (const [index, { commands, expected }] of guideSteps.entries())
      expect(normalized(outputs[index] ?? ''), `the output of:\n${commands}\n`).toMatch(pattern(expected))
  },
)

test.skipIf(!canRunWalkthrough)('every call of the cookbook gets the response shown', { timeout: 60_000 }, async () => {
  const outputs = await walk.run(steps)
  expect(outputs).toHaveLength(steps.length)
  for (const [index, { commands, expected }] of steps.entries()) {
    expect(normalized(outputs[index] ?? ''), `the output of:\n${commands}\n`).toMatch(pattern(expected))
  }
})
