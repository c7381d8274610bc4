import { readFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { raw, sql } from '../../platform/model/sql.ts'
import { readId } from '../../platform/model/ids.ts'
import { createDatabase } from '../../../test/postgres.ts'
import { pushesOf } from '../../../test/processed-pushes.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
/** A connection of its own, as `rapport migrate` has. */
let migration: pg.Client
beforeAll(async () => {
  const testDatabase = await createDatabase()
  service = await startTestService({}, testDatabase)
  migration = new pg.Client(testDatabase.connection)
  await migration.connect()
})
afterAll(async () => {
  await migration.end()
  await service.close()
})

const textOf = (name: string) => readFile(new URL(`../../../migrations/${name}.sql`, import.meta.url), 'utf8')

async function run(statements: string): Promise<void> {
  await service.database.crossTenantQuery('check the database', raw(statements))
}

/** Stores a record as earlier versions did, with other provider names. */
async function store(name: string, { call }: TestOrganization, externalIds: Json, isDeleted = false): Promise<string> {
  const { body } = await call('POST', `/v5/${name}`, { body: { name: randomUUID() } })
  const [table, column, singular] = [
    raw(name),
    raw(name === 'contacts' ? ', team_id' : ''),
    raw(name === 'contacts' ? 'contact' : 'company'),
  ]
  const id = readId(body.id.slice(0, 3), body.id)
  if (isDeleted) await call('DELETE', `/v5/${name}/${body.id}`)
  await service.database.crossTenantQuery(
    'check the database',
    sql`with changed as (
      update ${table} set external_ids = ${JSON.stringify(externalIds)}::jsonb where id = ${id}::uuid returning *)
    insert into ${singular}_external_ids (organization_id, provider, value, ${singular}_id${column})
    select organization_id, key, value, id${column} from changed, jsonb_each_text(external_ids) where deleted_at is null`,
  )
  return body.id
}

test.each(['contacts', 'companies'])('stored external ids of %s get one name per provider', async (name) => {
  const ours = await service.newOrganization()
  const theirs = await service.newOrganization()
  const stored: [externalIds: Json, after: Json, isDeleted?: boolean][] = [
    [
      { HubSpot: 'h1', erp: 'e1' },
      { hubSpot: 'h1', erp: 'e1' },
    ],
    [{ hubSpot: 'h2' }, { hubSpot: 'h2' }],
    // Another record has the id.
    [{ HubSpot: 'h2' }, { hubSpot2: 'h2' }],
    // The same record has the id, or a different one, under the new name.
    [{ HubSpot: 'h3', hubSpot: 'h3' }, { hubSpot: 'h3' }],
    [
      { HubSpot: 'h4', hubSpot: 'h5', hubSpot2: 'h6' },
      { hubSpot: 'h5', hubSpot2: 'h6', hubSpot3: 'h4' },
    ],
    [
      { hubSpot: ' h7 ', SAP: 's1' },
      { hubSpot: 'h7', sAP: 's1' },
    ],
    [{ HubSpot: 'h7' }, { hubSpot2: 'h7' }],
    [
      { [`A${'b'.repeat(39)}`]: '1', [`a${'b'.repeat(39)}`]: '2' },
      { [`a${'b'.repeat(38)}2`]: '1', [`a${'b'.repeat(39)}`]: '2' },
    ],
    [{ HubSpot: 'h8' }, { hubSpot: 'h8' }, true],
  ]
  const ids: string[] = []
  for (const [externalIds, , isDeleted] of stored) ids.push(await store(name, ours, externalIds, isDeleted))
  const other = await store(name, theirs, { HubSpot: 'h2' })
  await run(await textOf('0021_providers'))
  for (const [index, [, after, isDeleted]] of stored.entries()) {
    const path = `/v5/${name}/${ids[index]}`
    const { body } = isDeleted ? await ours.call('POST', `${path}/restore`) : await ours.call('GET', path)
    expect(body.externalIds).toEqual(after)
  }
  expect((await theirs.call('GET', `/v5/${name}/${other}`)).body.externalIds).toEqual({ hubSpot: 'h2' })
  const refused = await ours.call('POST', `/v5/${name}`, { body: { name: 'Taken', externalIds: { HubSpot: 'h1' } } })
  expect(refused.status).toBe(409)
  const [pushed] = await pushesOf(
    service,
    ours,
  )(
    name === 'contacts'
      ? { contact: { externalIdHubSpot: 'h1' } }
      : { contact: { email: 'ada@example.com' }, company: { externalIdHubSpot: 'h1', bio: 'Acme' } },
  )
  expect(name === 'contacts' ? pushed?.contactId : pushed?.companyId).toBe(ids[0])
})

test('notes and jobs deleted before edits were stored are not created again', async () => {
  const organization = await service.newOrganization()
  const { call } = organization
  const push = pushesOf(service, organization)
  const lead = {
    contact: { email: 'ada@example.com', note: 'Met at the fair' },
    employment: {
      history: [
        { organization: 'ÄCME', title: 'Clerk' },
        { organization: 'Babbage', start: '2020-01' },
      ],
    },
  }
  const [created] = await push(lead)
  const path = `/v5/contacts/${created?.contactId}`
  const records = [...(await call('GET', `${path}/notes`)).body, ...(await call('GET', `${path}/employments`)).body]
  for (const { id } of records) {
    await call('DELETE', `${path}/${id.startsWith('not') ? 'notes' : 'employments'}/${id}`)
  }
  await run('delete from contact_edited_values')
  const text = await textOf('0020_edited_values')
  await run(text.slice(text.indexOf('insert into contact_edited_values')))
  await run('delete from notes where deleted_at is not null')
  await run('delete from employments where deleted_at is not null')
  expect((await push(lead))[0]).toMatchObject({ status: 'PROCESSED', changes: [] })
  expect((await call('GET', `${path}/employments`)).body).toEqual([])
  expect((await call('GET', `${path}/notes`)).body).toEqual([])
})

test('secrets of imports that were written while they were copied are valid, or not, as they are in the directory', async () => {
  const { call, organizationId } = await service.newOrganization()
  const imports: { path: string; id: string }[] = []
  for (const name of ['Missed', 'Rotated meanwhile', 'Deleted meanwhile', 'Copied']) {
    const { body } = await call('POST', '/v5/imports', { body: { name } })
    imports.push({ path: new URL(body.triggerUrl).pathname, id: readId('imp', body.id) ?? '' })
  }
  const [missed, rotated, deleted] = imports.map(({ id }) => id)
  await migration.query('delete from import_secrets where import_id = $1', [missed])
  await migration.query(`update import_triggers set expires_at = '2020-01-01' where import_id = $1`, [rotated])
  await migration.query('update import_secrets set expires_at = null where import_id = $1', [rotated])
  const { rows } = await migration.query('select * from import_secrets where import_id = $1', [deleted])
  await migration.query('delete from import_triggers where import_id = $1', [deleted])
  await migration.query(
    'insert into import_secrets (organization_id, import_id, hash) values ($1, $2, $3) on conflict do nothing',
    [rows[0].organization_id, rows[0].import_id, rows[0].hash],
  )
  await migration.query(await textOf('0240_lost_import_secrets'))
  const statuses: number[] = []
  for (const { path } of imports)
    statuses.push((await call('POST', path, { body: { contact: { email: 'ada@example.com' } } })).status)
  expect(statuses).toEqual([200, 404, 404, 200])
  const secretsIn = async (table: string) => {
    const statement = `select import_id, hash, expires_at from ${table} where organization_id = $1 order by import_id`
    return (await migration.query(statement, [readId('org', organizationId)])).rows
  }
  expect(await secretsIn('import_secrets')).toEqual(await secretsIn('import_triggers'))
})
