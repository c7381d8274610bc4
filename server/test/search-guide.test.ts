import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resources, routes } from '../src/app.ts'
import { listedResources } from '../src/platform/http/route.ts'
import { relationsAmong } from '../src/platform/records/declare/relations.ts'
import { root } from './walkthrough.ts'

test('the guide to searches lists every relation', async () => {
  const text = await readFile(join(root, 'docs/guides/search.md'), 'utf8')
  const relations = relationsAmong(listedResources(routes))
  const rows = resources.flatMap((resource) => {
    const names = Object.keys(relations(resource))
    return names.length > 0 ? [[resource.name, ...names.sort()]] : []
  })
  const documented = (text.split('## Related records')[1] ?? '').matchAll(/^\| ([\w-]+) +\| (`.+`) +\|$/gm)
  const shown = [...documented].map(([, name = '', cell = '']) => [name, ...(cell.match(/\w+/g) ?? []).sort()])
  expect(shown.sort()).toEqual(rows.sort())
})
