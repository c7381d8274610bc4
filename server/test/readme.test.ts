import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canWalk, normalized, pattern, readSteps, root, startWalk, type Step, type Walk } from './walkthrough.ts'

let steps: Step[]
let walk: Walk

beforeAll(async () => {
  const [, tour = ''] = (await readFile(join(root, 'README.md'), 'utf8')).split('## A five-minute tour\n')
  steps = readSteps(tour.split(/^## /m)[0] ?? '')
  if (canWalk) walk = await startWalk(steps[0]?.commands ?? '')
})
afterAll(() => walk?.stop())

test('the tour has its steps: one that reads nothing would pass', () => {
  expect(steps.length).toBeGreaterThan(8)
  expect(steps[0]?.commands).toBe('npm start')
  expect(steps.filter(({ expected }) => expected === '')).toEqual([])
})

test.skipIf(!canWalk)('the README’s first command starts the service and prints what the README shows', () => {
  expect(normalized(walk.printed())).toMatch(pattern(steps[0]?.expected ?? '', { whole: false }))
})

test.skipIf(!canWalk)(
  'every further command of the tour prints what the README shows',
  { timeout: 60_000 },
  async () => {
    const further = steps.slice(1)
    const outputs = await walk.run(further)
    expect(outputs).toHaveLength(further.length)
    for (const [index, { commands, expected }] of further.entries()) {
      expect(normalized(outputs[index] ?? ''), `what this prints:\n${commands}\n`).toMatch(pattern(expected))
    }
  },
)

test('what stands for something else does not stand for everything', () => {
  expect('{\n  "id": "con_1",\n  "a": 1,\n  "b": 2\n}').toMatch(pattern('{\n  "id": "con_…",\n  …\n}'))
  expect('{\n  "id": "con_1",\n  "a": 1\n}').not.toMatch(pattern('{\n  "id": "con_…",\n}'))
  expect('{\n  "id": "com_1"\n}').not.toMatch(pattern('{\n  "id": "con_…"\n}'))
  expect('con_\n1').not.toMatch(pattern('con_…'))
})
