import { readdir, readFile } from 'node:fs/promises'
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
  steps = readSteps(await readFile(join(root, 'docs/guides/tour.md'), 'utf8'))
  if (canRunWalkthrough) walkthrough = await startWalkthrough(steps[0]?.commands ?? '')
})
afterAll(() => walkthrough?.stop())

test('the tour has more than eight steps, each with its output', () => {
  expect(steps.length).toBeGreaterThan(8)
  expect(steps[0]?.commands).toBe('npm start')
  expect(steps.filter(({ expected }) => expected === '')).toEqual([])
})

test.skipIf(!canRunWalkthrough)('the first command starts the service and prints the documented output', () => {
  expect(normalized(walkthrough.printed())).toMatch(pattern(steps[0]?.expected ?? '', { whole: false }))
})

test.skipIf(!canRunWalkthrough)(
  'every later command of the tour prints the documented output, and a second tour can begin',
  { timeout: 120_000 },
  async () => {
    const [creation, ...others] = steps.slice(1)
    if (!creation) throw new Error('the tour has no second step')
    const run = [creation, ...others, creation]
    const outputs = await walkthrough.run(run)
    expect(outputs).toHaveLength(run.length)
    for (const [index, { commands, expected }] of run.entries()) {
      expect(normalized(outputs[index] ?? ''), `what this prints:\n${commands}\n`).toMatch(pattern(expected))
    }
  },
)

test('no guide waits without an end', async () => {
  const guides = join(root, 'docs/guides')
  for (const name of await readdir(guides)) {
    const text = await readFile(join(guides, name), 'utf8')
    const waits = readSteps(text).filter(({ commands }) => /^\s*until\b/m.test(commands))
    expect([name, waits]).toEqual([name, []])
  }
})

test('a placeholder does not match everything', () => {
  expect('{\n  "id": "con_1",\n  "a": 1,\n  "b": 2\n}').toMatch(pattern('{\n  "id": "con_…",\n  …\n}'))
  expect('{\n  "id": "con_1",\n  "a": 1\n}').not.toMatch(pattern('{\n  "id": "con_…",\n}'))
  expect('{\n  "id": "com_1"\n}').not.toMatch(pattern('{\n  "id": "con_…"\n}'))
  expect('con_\n1').not.toMatch(pattern('con_…'))
})
