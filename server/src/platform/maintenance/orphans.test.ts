import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../../../test/service.ts'
import { directoryReferences } from '../../retention-policies.ts'
import { newId, readId } from '../model/ids.ts'
import { type Sql, sql } from '../model/sql.ts'
import { removeOrphans } from './orphans-store.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const inDatabase = <Row extends object>(statement: Sql) =>
  service.database.crossTenantQuery<Row>('check the database', statement)

/** An organization with references from the directory to records that exist and to others that never did. */
async function createReferences(age: string) {
  const { call, ...organization } = await service.newOrganization()
  const organizationId = readId('org', organization.organizationId) ?? ''
  const { body: team } = await call('POST', '/v5/teams', { body: { name: 'Kept' } })
  const missing = { team: newId(), import: newId() }
  await inDatabase(sql`insert into team_members (organization_id, team_id, id)
    values (${organizationId}, ${missing.team}, ${readId('usr', organization.userId)}),
      (${organizationId}, ${readId('tea', team.id)}, ${readId('usr', organization.userId)})`)
  await inDatabase(sql`insert into invitations (organization_id, id, email, email_key, role, team_id, expires_at)
    values (${organizationId}, ${newId()}, 'a@example.com', 'a@example.com', 'member', ${missing.team}, now())`)
  await inDatabase(sql`insert into import_triggers (organization_id, import_id, hash)
    values (${organizationId}, ${missing.import}, decode(md5(${missing.import}), 'hex'))`)
  for (const table of [sql`team_members`, sql`invitations`, sql`import_triggers`])
    await inDatabase(sql`update ${table} set created_at = now() - ${age}::interval`)
  const read = async () => {
    const teams = await inDatabase<{ id: string }>(
      sql`select team_id as id from team_members where organization_id = ${organizationId}`,
    )
    const invited = await inDatabase<{ id: string | null }>(
      sql`select team_id as id from invitations where organization_id = ${organizationId}`,
    )
    const triggers = await inDatabase<{ id: string }>(
      sql`select import_id as id from import_triggers where organization_id = ${organizationId}`,
    )
    return {
      hasOrphan: teams.some(({ id }) => id === missing.team),
      teams: teams.length,
      invitedTo: invited.map(({ id }) => id),
      hasTrigger: triggers.some(({ id }) => id === missing.import),
      triggers: triggers.length,
    }
  }
  return { read, missing }
}

async function removeAll(): Promise<void> {
  for (const reference of directoryReferences)
    await removeOrphans(service.database, reference, new AbortController().signal)
}

test('references of the directory to records that do not exist are removed, and all others stay', async () => {
  const { read, missing } = await createReferences('2 hours')
  const before = await read()
  expect(before).toMatchObject({ hasOrphan: true, invitedTo: [missing.team], hasTrigger: true })
  await removeAll()
  expect(await read()).toEqual({
    hasOrphan: false,
    teams: before.teams - 1,
    invitedTo: [null],
    hasTrigger: false,
    triggers: before.triggers - 1,
  })
})

test('a reference stays for an hour, because its record may become visible later', async () => {
  const { read } = await createReferences('50 minutes')
  const before = await read()
  await removeAll()
  expect(await read()).toEqual(before)
})
