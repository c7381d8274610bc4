import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { resources, routes } from '../src/app.ts'
import { listedResources } from '../src/platform/http/route.ts'
import { relationsAmong } from '../src/platform/query/relations.ts'
import {
  canRunWalkthrough,
  normalized,
  pattern,
  readSteps,
  root,
  startWalkthrough,
  type Walkthrough,
} from './walkthrough.ts'

const text = await readFile(join(root, 'docs/guides/search.md'), 'utf8')
const steps = readSteps(text)

let walk: Walkthrough
beforeAll(async () => {
  if (canRunWalkthrough) walk = await startWalkthrough('node bin/rapport.js start')
})
afterAll(() => walk?.stop())

test.skipIf(!canRunWalkthrough)('every search of the guide finds what is shown', { timeout: 60_000 }, async () => {
  expect(steps.filter(({ expected }) => expected !== '')).toHaveLength(5)
  const outputs = await walk.run(steps)
  for (const [index, { commands, expected }] of steps.entries()) {
    expect(normalized(outputs[index] ?? ''), `the output of:\n${commands}\n`).toMatch(pattern(expected))
  }
})

test('the guide lists every relation', () => {
  const relations = relationsAmong(listedResources(routes))
  const rows = resources.flatMap((resource) => {
    const names = Object.keys(relations(resource))
    return names.length > 0 ? [[resource.name, ...names.sort()]] : []
  })
  const documented = (text.split('## Related records')[1] ?? '').matchAll(/^\| ([\w-]+) +\| (`.+`) +\|$/gm)
  const shown = [...documented].map(([, name = '', cell = '']) => [name, ...(cell.match(/\w+/g) ?? []).sort()])
  expect(shown.sort()).toEqual(rows.sort())
})
