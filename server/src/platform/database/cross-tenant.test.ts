import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { crossTenantPurposes } from './cross-tenant-purposes.ts'

const sources = fileURLToPath(new URL('../..', import.meta.url))
const files = readdirSync(sources, { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
)
const texts = files.map((name) => readFileSync(join(sources, name), 'utf8'))
const uses = texts.flatMap((text) => [
  ...text.matchAll(/\.crossTenant(?:Query|Batch|Transaction)(?:<[^(]*>)?\(\s*'([^']+)'/g),
])

test('every statement that spans organizations names a purpose of the closed list, and each purpose is used', () => {
  expect(new Set(uses.map(([, purpose]) => purpose))).toEqual(new Set(crossTenantPurposes))
})

test('only the database module and the command line reach PostgreSQL past the connections that carry an organization', () => {
  const drivers = files.filter((_, index) => /^import (?!type ).*from 'pg'$/m.test(texts[index] ?? ''))
  // A command may take the driver's error class, and looks at databases that the service would refuse.
  expect(
    drivers.filter(
      (name) => !/^(?:platform\/(?:database|operations\/(?:embedded-postgres|backup|schema))|cli)\//.test(name),
    ),
  ).toEqual([])
  expect(drivers).toContain('platform/database/database.ts')
})
