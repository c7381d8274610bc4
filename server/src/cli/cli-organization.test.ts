import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databaseUrlOf, type ProcessResult, run } from '../../test/command-line.ts'
import { newOwner, type TestOwner } from '../../test/people.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { type Json, startTestService, type TestService } from '../../test/service.ts'

let database: TestDatabase
let service: TestService
let folder: string
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({}, database)
  await service.newOrganization()
  folder = await mkdtemp(join(tmpdir(), 'rapport-cli-organization-'))
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

const command = (words: readonly string[], { organizationId }: TestOwner): Promise<ProcessResult> =>
  run(['organization', ...words, '--organization', organizationId], {
    environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder },
  })

const nameOf = async ({ call }: TestOwner): Promise<string> => (await call('GET', '/v5/organization')).body.name

test('delete exports an organization, takes its access away at once, and undelete gives it back', async () => {
  const owner = await newOwner(service)
  const name = await nameOf(owner)
  const added = await owner.call('POST', '/v5/contacts', { body: { email: 'ada@example.com', firstName: 'Ada' } })
  expect(added.status).toBe(201)
  const file = join(folder, 'company.jsonl.gz')
  const done = await command(['delete', '--export', file, '--confirm', name, '--json'], owner)
  expect(done).toMatchObject({ code: 0, errors: '' })
  expect(JSON.parse(done.output)).toMatchObject({ id: owner.organizationId, export: file })
  expect((await owner.call('GET', '/v5/contacts')).status).toBe(403)
  expect((await owner.organization.call('GET', '/v5/contacts')).status).toBe(403)

  const lines: Json[] = gunzipSync(await readFile(file))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines[0]).toMatchObject({ table: 'organizations', row: { name } })
  expect(lines[1]).toMatchObject({ table: 'members', row: { email: owner.email, role: 'owner' } })
  expect(lines.filter(({ table }) => table === 'contacts')).toMatchObject([{ row: { email: 'ada@example.com' } }])
  expect(lines.filter(({ table }) => /secret|renderings|answers/.test(table))).toEqual([])

  // Commands that act for its owner are refused too.
  const refused = await run(['import', 'list', '--organization', owner.organizationId], {
    environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: folder },
  })
  expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('is being deleted') })
  expect(await command(['undelete'], owner)).toMatchObject({ code: 0 })
  expect((await owner.call('GET', '/v5/contacts')).body).toHaveLength(1)
  const log = await owner.call('GET', '/v5/audit-log?filter.actorKind.equals=command&sort=asc')
  expect(log.body.map(({ action }: Json) => action)).toEqual(
    expect.arrayContaining(['organization.deletion-scheduled', 'organization.deletion-cancelled']),
  )
})

test('delete without the exact name, or without a decision about an export, changes nothing', async () => {
  const owner = await newOwner(service)
  const name = await nameOf(owner)
  const file = join(folder, 'unwanted.jsonl.gz')
  const wrong = await command(['delete', '--export', file, '--confirm', name.slice(1)], owner)
  expect(wrong).toMatchObject({ code: 2, errors: expect.stringContaining(`expected exactly "${name}"`) })
  await expect(readFile(file)).rejects.toThrow('ENOENT')
  expect((await command(['delete', '--no-export'], owner)).errors).toContain(`Confirm with --confirm "${name}"`)
  expect((await command(['delete', '--confirm', name], owner)).errors).toContain('--export <file>')
  expect((await owner.call('GET', '/v5/contacts')).status).toBe(200)
})

test('an export never replaces a file, and then nothing is deleted', async () => {
  const owner = await newOwner(service)
  const file = join(folder, 'taken.jsonl.gz')
  expect(await command(['export', file], owner)).toMatchObject({ code: 0 })
  const before = await readFile(file)
  const again = await command(['delete', '--export', file, '--confirm', await nameOf(owner)], owner)
  expect(again).toMatchObject({ code: 1, errors: expect.stringContaining('already exists') })
  expect(await readFile(file)).toEqual(before)
  expect((await owner.call('GET', '/v5/contacts')).status).toBe(200)
})
