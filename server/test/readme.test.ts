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
  type Step,
  type Walkthrough,
} from './walkthrough.ts'

let steps: Step[]
let walkthrough: Walkthrough

beforeAll(async () => {
  const [, tour = ''] = (await readFile(join(root, 'README.md'), 'utf8')).split('## A five-minute tour\n')
  steps = readSteps(tour.split(/^## /m)[0] ?? '')
  if (canRunWalkthrough) walkthrough = await startWalkthrough(steps[0]?.commands ?? '')
})
afterAll(() => walkthrough?.stop())

test('the tour has more than eight steps, each with its output', () => {
  expect(steps.length).toBeGreaterThan(8)
  expect(steps[0]?.commands).toBe('npm start')
  expect(steps.filter(({ expected }) => expected === '')).toEqual([])
})

test.skipIf(!canRunWalkthrough)(
  'the first command of the README starts the service and prints the documented output',
  () => {
    expect(normalized(walkthrough.printed())).toMatch(pattern(steps[0]?.expected ?? '', { whole: false }))
  },
)

test.skipIf(!canRunWalkthrough)(
  'every later command of the tour prints the documented output',
  { timeout: 60_000 },
  async () => {
    const laterSteps = steps.slice(1)
    const outputs = await walkthrough.run(laterSteps)
    expect(outputs).toHaveLength(laterSteps.length)
    for (const [index, { commands, expected }] of laterSteps.entries()) {
      expect(normalized(outputs[index] ?? ''), `what this prints:\n${commands}\n`).toMatch(pattern(expected))
    }
  },
)

test('a placeholder does not match everything', () => {
  expect('{\n  "id": "con_1",\n  "a": 1,\n  "b": 2\n}').toMatch(pattern('{\n  "id": "con_…",\n  …\n}'))
  expect('{\n  "id": "con_1",\n  "a": 1\n}').not.toMatch(pattern('{\n  "id": "con_…",\n}'))
  expect('{\n  "id": "com_1"\n}').not.toMatch(pattern('{\n  "id": "con_…"\n}'))
  expect('con_\n1').not.toMatch(pattern('con_…'))
})
