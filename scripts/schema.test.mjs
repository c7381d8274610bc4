import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const run = (...options) => {
  const script = fileURLToPath(new URL('schema.mjs', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...options], { encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('`npm run schema` prints the schema without a running service, and nothing else', () => {
  const { status, stdout, stderr } = run()
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toMatch(/^create extension if not exists pg_trgm;\n\ncreate table schema_migrations \(/)
  expect(stdout).toMatch(/^create table contacts \(\n {2}organization_id uuid not null,$/m)
  expect(stdout).toMatch(/^CREATE TRIGGER audit_events_not_updated /m)
}, 60_000)

test('`npm run schema` explains itself, and refuses other options', () => {
  expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('server/schema'), stderr: '' })
  expect(run('--tables')).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/^Usage:/) })
})
