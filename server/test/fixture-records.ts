import { randomUUID } from 'node:crypto'
import { addMember as joinOrganization } from '../src/identity/members/store.ts'
import { sql } from '../src/platform/model/sql.ts'
import { newId, decodeId, encodeId } from '../src/platform/model/ids.ts'
import type { References } from './samples.ts'
import type { Call, TestOrganization, TestService } from './service.ts'

export interface FixtureOptions {
  given?: TestOrganization
  /** Where the numbers in unique values start; for a second fixture of an organization. */
  firstIndex?: number
}

/** Contacts for links, each of which needs another one. */
export async function insertContacts(service: TestService, organization: TestOrganization): Promise<string[]> {
  const own = sql`${decodeId('org', organization.organizationId)}::uuid`
  const rows = await service.database.crossTenantQuery<{ id: string }>(
    'check the database',
    sql`with people as (
      insert into root_contacts (organization_id, id) select ${own}, new_id() from generate_series(1, 24) returning id)
    insert into contacts (organization_id, id, team_id, root_contact_id, name)
    select ${own}, new_id(), ${decodeId('tea', organization.teamId)}::uuid, id, 'Linked' from people returning id`,
  )
  return rows.map(({ id }) => encodeId('con', id))
}

/** The pipeline that an organization starts with, and its first stage. */
export async function firstPipeline(call: Call): Promise<References> {
  const { body: pipelines } = await call('GET', '/v5/pipelines')
  const stagesPath = `/v5/pipelines/${pipelines[0].id}/stages`
  const { body: stages } = await call('GET', `${stagesPath}?orderBy=position&sort=asc&limit=1`)
  return { pip: [pipelines[0].id], stg: [stages[0].id] }
}

/** Adds a person to an organization; returns their id. */
export async function addMember(service: TestService, organizationId: string): Promise<string> {
  const id = newId()
  const email = `${randomUUID()}@example.com`
  await service.database.crossTenantTransaction('check the database', async (db) => {
    await db.query(
      sql`insert into users (id, email, email_key, name) values (${id}, ${email}, ${email}, 'Grace Hopper')`,
    )
    await joinOrganization(db, { organizationId: decodeId('org', organizationId) ?? '', userId: id, role: 'member' })
  })
  return encodeId('usr', id)
}
