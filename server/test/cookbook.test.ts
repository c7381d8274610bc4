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

const text = await readFile(join(root, 'docs/guides/cookbook.md'), 'utf8')
const steps = readSteps(text)

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

test.skipIf(!canRunWalkthrough)('every call of the cookbook gets the response shown', { timeout: 60_000 }, async () => {
  const outputs = await walk.run(steps)
  expect(outputs).toHaveLength(steps.length)
  for (const [index, { commands, expected }] of steps.entries()) {
    expect(normalized(outputs[index] ?? ''), `the output of:\n${commands}\n`).toMatch(pattern(expected))
  }
})
