import { expect } from 'vitest'
import { roleScopes } from '../src/app.ts'
import { decodeId, encodeId } from '../src/platform/model/ids.ts'
import { identifier, sql } from '../src/platform/model/sql.ts'
import { deliveryDetails } from '../src/webhooks/delivery.ts'
import { refusedPushDetails } from '../src/intake/refused-pushes/resource.ts'
import { reachNouns } from '../src/identity/roles/resource.ts'
import { callRoute } from './collections.ts'
import type { MailedService } from './mailed-service.ts'
import { newOwner, type TestOwner, type TestPerson } from './people.ts'
import type { Json } from './service.ts'
import { newTenant, type Tenant } from './tenancy.ts'
import type { Collection } from './fixture.ts'

/** The tables whose records belong to a person, with the column of that person. */
export const ownerColumns = {
  contacts: 'owner_id',
  companies: 'owner_id',
  deals: 'owner_id',
  tasks: 'assignee_id',
  campaigns: 'owner_id',
} as const
export type OwnedTable = keyof typeof ownerColumns
export const ownedTables = Object.keys(ownerColumns) as OwnedTable[]

/** Records that belong to a person, or to such a record. */
const restrictedIds = /^(con|com|del|tsk|cam|emp|not|dct|mov|ent|sug|ana)_/
export const isRestrictedId = (id: string): boolean => restrictedIds.test(id)
export const isRestrictedCollection = ({ resource }: Collection): boolean => isRestrictedId(`${resource.idPrefix}_`)

/** A person who sees only their own records, and a colleague with as many records in the same organization. */
export interface ReachFixture {
  owner: TestOwner
  person: TestPerson
  /** The records of the person, requested by the person. */
  ours: Tenant
  /** The records of the colleague. */
  theirs: Tenant
  /** The ids of the person's records, by table. */
  own: Record<OwnedTable, ReadonlySet<string>>
  /** Parts of the ids of the colleague's records. */
  secrets: readonly string[]
}

/** A role with all scopes, and the same reach for every resource. */
export async function newRole(owner: Pick<TestOwner, 'call'>, level: string): Promise<string> {
  const reach = Object.fromEntries(reachNouns.map((noun) => [noun, level]))
  const body = { name: `Sees ${level} ${++roleNumber}`, scopes: roleScopes('owner'), reach }
  const made = await owner.call('POST', '/v5/roles', { body })
  expect(made.status, made.text).toBe(201)
  return made.body.id
}
let roleNumber = 0

/** A new member with this role. */
export async function personWith(
  mailed: MailedService,
  owner: Pick<TestOwner, 'call'>,
  roleId: string,
): Promise<TestPerson> {
  const person = await mailed.join(owner.call, 'viewer')
  const changed = await owner.call('PATCH', `/v5/members/${person.userId}`, { body: { roleId } })
  expect(changed.status, changed.text).toBe(200)
  return person
}

export async function createReachFixture(mailed: MailedService): Promise<ReachFixture> {
  const { service } = mailed
  const owner = await newOwner(service)
  const { organization } = owner
  const query = <Row extends object>(statement: ReturnType<typeof sql>) =>
    service.database.crossTenantQuery<Row>('check the database', statement)
  const organizationId = sql`${decodeId('org', owner.organizationId)}::uuid`
  /** Gives the person every record that is not the colleague's. */
  const giveAllTo = async (userId: string, ...colleagueIds: string[]) => {
    for (const table of ownedTables) {
      const column = identifier(ownerColumns[table])
      await query(sql`update ${identifier(table)} set ${column} = ${decodeId('usr', userId)}::uuid
        where organization_id = ${organizationId}
          and (${column} is null or ${column} <> all(${colleagueIds.map((id) => decodeId('usr', id))}::uuid[]))`)
    }
  }
  const colleague = await mailed.join(owner.call, 'member')
  const person = await personWith(mailed, owner, await newRole(owner, 'own'))
  // Nobody owns a refused push or a delivery; they are seen by those who see all records, and filters name them. Everyone
  // sees a record that only embeds a restricted one, and a change of it could name one.
  const included = (collection: Collection) =>
    isRestrictedCollection(collection) ||
    [refusedPushDetails.table, deliveryDetails.table].includes(collection.resource.table) ||
    Object.values(collection.resource.embedded).some(({ resource }) => isRestrictedId(`${resource.idPrefix}_`))
  const options = { given: organization, included }
  const theirs = await newTenant(service, options)
  await giveAllTo(colleague.userId)
  const ours = await newTenant(service, { ...options, firstIndex: 20_000 })
  await giveAllTo(person.userId, colleague.userId)
  const entries = await Promise.all(
    ownedTables.map(async (table) => {
      const rows = await query<{ id: string; isOwn: boolean }>(sql`
        select id, ${identifier(ownerColumns[table])} = ${decodeId('usr', person.userId)}::uuid as "isOwn"
        from ${identifier(table)} where organization_id = ${organizationId} order by id`)
      return [table, rows] as const
    }),
  )
  // Each of them has records that refer to the other one's.
  const uuidIn = ({ references }: Tenant, prefix: string, index: number) =>
    sql`${decodeId(prefix, references[prefix]?.[index] ?? '')}::uuid`
  const isTheirs = (column: string) => sql`${identifier(column)} = ${decodeId('usr', colleague.userId)}::uuid`
  for (const table of ['contacts', 'deals'] as const) {
    await query(sql`update ${identifier(table)} set company_id =
        case when ${isTheirs('owner_id')} then ${uuidIn(ours, 'com', 1)} else ${uuidIn(theirs, 'com', 0)} end
      where organization_id = ${organizationId}`)
  }
  await query(sql`update contacts set team_id = ${uuidIn(ours, 'tea', 1)}
    where organization_id = ${organizationId} and ${isTheirs('owner_id')}`)
  await query(sql`update tasks set contact_id = ${uuidIn(ours, 'con', 1)}
    where organization_id = ${organizationId} and ${isTheirs('assignee_id')}`)
  await query(sql`insert into deal_contacts (organization_id, id, deal_id, contact_id)
    select ${organizationId}, new_id(), deal.id, ${uuidIn(theirs, 'con', 0)}
    from deals deal where organization_id = ${organizationId} and not ${isTheirs('owner_id')}`)
  await query(sql`update suggestions set result_task_id = ${uuidIn(theirs, 'tsk', 0)},
      result_deal_id = ${uuidIn(theirs, 'del', 0)}, result_contact_id = ${uuidIn(theirs, 'con', 0)}
    where organization_id = ${organizationId}`)
  return {
    owner,
    person,
    theirs,
    ours: {
      ...ours,
      organization: { ...ours.organization, call: person.call },
      request: (route, wanted) => callRoute(person.call, route, wanted),
    },
    own: Object.fromEntries(
      entries.map(([table, rows]) => [
        table,
        new Set(rows.flatMap(({ id, isOwn }) => (isOwn ? encodeId(prefixes[table], id) : []))),
      ]),
    ) as unknown as ReachFixture['own'],
    secrets: entries.flatMap(([, rows]) => rows.flatMap(({ id, isOwn }) => (isOwn ? [] : id.replaceAll('-', '')))),
  }
}

const prefixes = { contacts: 'con', companies: 'com', deals: 'del', tasks: 'tsk', campaigns: 'cam' }

/** Is the record, as an unrestricted person sees it, one of the person's own, and its parents too? */
export function isOwn({ own }: ReachFixture, { resource }: Collection, row: Json): boolean {
  const parents = [
    ['contactId', 'contacts'],
    ['companyId', 'companies'],
    ['dealId', 'deals'],
  ] as const
  const isOnOwn = parents.every(([name, table]) => (row[name] ?? null) === null || own[table].has(row[name]))
  if (resource.table === 'tasks') return own.tasks.has(row.id) && isOnOwn
  if (resource.table in own) return own[resource.table as OwnedTable].has(row.id)
  if (resource.table === 'deal_contacts') return true
  return isOnOwn && (row.kind !== 'task' || own.tasks.has(row.task.id))
}
