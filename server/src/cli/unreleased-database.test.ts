import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tableChecksums } from '../../test/backups.ts'
import { databaseUrlOf, run, runProcess } from '../../test/command-line.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../../test/postgres.ts'
import { connect } from '../platform/database/connect.ts'

let old: TestDatabase
let folder: string
let backup: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-unreleased-'))
  backup = join(folder, 'good.backup')
  await writeFile(join(folder, 'next-secret'), 'the next secret of enough characters')
  const current = await createDatabase()
  const taken = await run(['backup', backup], environmentOf(current))
  expect(taken, taken.errors).toMatchObject({ code: 0 })
  await current.drop()
  old = await createEmptyDatabase()
  const client = await connect(old.connection)
  await client.query(`
    create table schema_migrations (version integer primary key, name text not null, checksum text not null,
      applied_at timestamptz not null default now());
    insert into schema_migrations (version, name, checksum)
      values (1, '0001_foundation.sql', 'a'), (2, '0002_identity.sql', 'b'), (346, '0346_retention_indexes.sql', 'c');
    create table instance (name text primary key, value text not null);
    create table organizations (id uuid primary key, name text not null);
    insert into organizations values (gen_random_uuid(), 'Acme')`)
  await client.end()
})
afterAll(async () => {
  await old.drop()
  await rm(folder, { recursive: true })
})

const environmentOf = (database: TestDatabase) => ({
  environment: {
    DATABASE_URL: databaseUrlOf(database),
    DATA_DIR: join(folder, 'data'),
    SECRET: 'the secret of an installation, long enough',
    RAPPORT_PASSWORD: 'violet engine tandem',
    PORT: '0',
  },
})

const refusal =
  'The database was made by a Rapport from before 0.1.0, which no release can continue. Nothing was changed.'
const ofOrganization = ['--organization', 'Acme']

test.each([
  [['migrate']],
  [['migrate', '--distribute']],
  [['backup', 'old.backup']],
  [['restore', 'good.backup', '--force']],
  [['restore', 'good.backup', '--force', '--new-secret']],
  [['secret', 'replace', '--new-file', 'next-secret']],
  [['bootstrap', '--email', 'ada@example.com', ...ofOrganization]],
  [['demo']],
  [['keys', 'list']],
  [['api-key', 'create', ...ofOrganization, '--name', 'Reports', '--scope', 'contact:*:read']],
  [['import', 'list', ...ofOrganization]],
  [['organization', 'export', 'acme.zip', ...ofOrganization]],
  [['user', 'end-sessions', '--email', 'ada@example.com']],
])('`rapport %j` refuses a database from before 0.1.0 and leaves it unchanged', async (args) => {
  const before = await tableChecksums(old.connection)
  const inFolder = args.map((word) =>
    /\.|^next-secret$/.test(word) && !word.includes('@') ? join(folder, word) : word,
  )
  const { code, output, errors } = await run(inFolder, environmentOf(old))
  expect({ code, output }, errors).toEqual({ code: expect.toBeOneOf([1, 3]), output: '' })
  expect(errors).toContain(refusal)
  expect(await tableChecksums(old.connection)).toEqual(before)
})

test('a service does not start on a database from before 0.1.0', async () => {
  const before = await tableChecksums(old.connection)
  const { code, errors } = await runProcess(['start'], environmentOf(old))
  expect(code, errors).toBe(3)
  expect(errors).toContain(refusal)
  expect(await tableChecksums(old.connection)).toEqual(before)
})

test('the doctor finds that a database is from before 0.1.0', async () => {
  const { code, output } = await run(['doctor'], environmentOf(old))
  expect(code).toBe(1)
  expect(output).toContain(`WRONG  schema: ${refusal}`)
})
