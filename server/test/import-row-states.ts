import { sql } from '../src/platform/model/sql.ts'
import { newId, decodeId } from '../src/platform/model/ids.ts'
import { processNextBatch } from '../src/intake/work/batch.ts'
import { pushRoute } from '../src/intake/accept/push-route.ts'
import { finding, type FindingCode, type RowStatus } from '../src/intake/imports/resource.ts'
import type { JsonObject } from '../src/platform/model/json.ts'
import type { Pushes, Fixture } from './fixture.ts'

type RowFixture = Pick<Fixture, 'service' | 'organization' | 'request'>

export function pushesOf(fixture: RowFixture): Pushes {
  const secrets = new Map<string, string>()
  let createdCount = 0
  const pushes: Pushes = {
    rememberUrl: (importId, triggerUrl) => void secrets.set(importId, triggerUrl.split('/').at(-1) ?? ''),
    hashOf(importId) {
      const hash = secrets.get(importId)
      if (hash === undefined) throw new Error(`The URL of ${importId} is unknown`)
      return hash
    },
    async push(importId, lead) {
      const id = await pushLead(fixture, { importId, hash: pushes.hashOf(importId) }, lead)
      await processRows(fixture)
      await backdateCounts(fixture)
      return id
    },
    async refuse(importId) {
      const params = { importId, hash: pushes.hashOf(importId) }
      const email = `refused.${createdCount}@example.com`
      const bodies = [
        { contact: { email }, company: { employeesCount: 'many' } },
        { contact: { email }, company: { foundedYear: 'long ago', name: 'Acme' } },
        { contact: { name: 'Nobody' } },
      ]
      const body = bodies[createdCount++ % bodies.length]
      const { status, text } = await fixture.request(pushRoute, { params, body })
      if (status !== 400) throw new Error(`A push was not refused: ${text}`)
    },
    async row(importId) {
      const [status, create] = rowKinds[createdCount % rowKinds.length] ?? ['PROCESSED', processed(acceptedLead)]
      const series = Math.floor(createdCount++ / rowKinds.length)
      const id = await create({ fixture, pushes, importId, series })
      const actualStatus = await statusOf(fixture, id)
      if (actualStatus !== status) throw new Error(`A row that should be ${status} is ${actualStatus}`)
      await backdateCounts(fixture)
      return id
    },
  }
  return pushes
}

async function pushLead(
  { request: send }: RowFixture,
  params: Record<string, string>,
  body: JsonObject,
): Promise<string> {
  const answer = await send(pushRoute, { params, body })
  if (answer.status !== 200) throw new Error(`A push was refused: ${answer.text}`)
  return answer.body.id
}

/** Processes all rows, like a worker. */
async function processRows({ service, organization }: RowFixture): Promise<void> {
  const organizationId = decodeId('org', organization.organizationId) ?? ''
  const batch = { maxRows: 100, leaseSeconds: 60, onClaimed: () => undefined }
  for (let isMore = true; isMore;) isMore = await processNextBatch(service.database, organizationId, batch)
}

/** Backdates the counts, because an import's rate of the last minute would change during a test. In UTC: immutable. */
async function backdateCounts({ service, organization }: RowFixture): Promise<void> {
  await service.database.crossTenantQuery(
    'check the database',
    sql`update import_row_counts set counted_at = now() - interval '1 day'
      where organization_id = ${decodeId('org', organization.organizationId)}::uuid
        and counted_at > now() - interval '1 hour'`,
  )
}

interface RowContext {
  fixture: RowFixture
  pushes: Pushes
  importId: string
  /** Makes the leads of each series unique. */
  series: number
}
type CreateRow = (context: RowContext) => Promise<string>
type LeadOf = (series: number) => JsonObject

/** The import skips a job that ends before it begins. */
const partialLead: LeadOf = (series) => ({
  contact: { email: `partly.${series}@example.com`, externalIdCrm: `crm-${series}` },
  employment: { history: [{ organization: 'Engines', start: '2021-01', end: '2020-01' }] },
  company: { name: `Employer ${series}` },
})

const acceptedLead: LeadOf = (series) => ({
  contact: { email: `taken.${series}@example.com`, name: 'Ada Lovelace', note: 'Met at the fair', favourite: 'blue' },
  employment: { title: 'Analyst', history: [{ organization: 'Engines', start: '2020-01', current: true }] },
  company: { name: `Engines ${series}`, domain: `engines-${series}.com` },
})

/** A lead with the keys of two contacts. */
const conflictingLead: LeadOf = (series) => ({
  contact: { email: `taken.${series}@example.com`, externalIdCrm: `crm-${series}` },
})

const processed =
  (lead: LeadOf): CreateRow =>
  ({ pushes, importId, series }) =>
    pushes.push(importId, lead(series))

const cancelled: CreateRow = async ({ fixture, pushes, importId, series }) => {
  const id = await pushLead(fixture, { importId, hash: pushes.hashOf(importId) }, acceptedLead(series))
  const path = `/v5/imports/${importId}/rows/cancel?filter.id.equals=${id}`
  const { status, text } = await fixture.organization.call('POST', path)
  if (status !== 200) throw new Error(`A row was not cancelled: ${text}`)
  return id
}

/** Sets the row's state directly, without the events that lead to it. */
const withStatus =
  (status: RowStatus, { attempts = 0, code, isDueTomorrow = false }: RowFailure): CreateRow =>
  async ({ fixture, pushes, importId, series }) => {
    const id = await pushLead(fixture, { importId, hash: pushes.hashOf(importId) }, acceptedLead(series))
    const errors = code === undefined ? [] : [finding(code, '', 'set by a test')]
    // Computed here: Citus does not evaluate the time of a row on the server with the row.
    const day = 24 * 60 * 60 * 1000
    const [row] = await fixture.service.database.crossTenantQuery<{ created_at: Date }>(
      'check the database',
      sql`select created_at from import_rows where id = ${decodeId('row', id)}::uuid`,
    )
    const createdAt = new Date((row?.created_at.getTime() ?? 0) - attempts * day)
    await fixture.service.database.crossTenantQuery(
      'check the database',
      sql`update import_rows set status = ${status}, attempts = ${attempts}, errors = ${JSON.stringify(errors)}::json,
          error_codes = ${errors.map((error) => error.code)}::text[],
          lease = ${status === 'PROCESSING' ? newId() : null}::uuid,
          run_at = ${isDueTomorrow ? new Date(Date.now() + day) : null}::timestamptz,
          finished_at = ${isDueTomorrow ? null : new Date()}::timestamptz,
          created_at = ${createdAt}::timestamptz
        where id = ${decodeId('row', id)}::uuid`,
    )
    // As whatever changes the status of a row does.
    await fixture.service.database.crossTenantQuery(
      'check the database',
      sql`insert into import_row_counts (organization_id, import_id, status, change)
        select organization_id, import_id, counted.status, counted.change
        from import_rows cross join (values ('PENDING', -1), (${status}, 1)) as counted (status, change)
        where id = ${decodeId('row', id)}::uuid`,
    )
    return id
  }

interface RowFailure {
  attempts?: number
  code?: FindingCode
  /** Whether the row is unfinished and due tomorrow. */
  isDueTomorrow?: boolean
}

/** In this order: rows that can be retried or cancelled come first, so that a few rows include both. */
const rowKinds: readonly (readonly [RowStatus, CreateRow])[] = [
  ['PARTIAL', processed(partialLead)],
  ['RETRYING', withStatus('RETRYING', { attempts: 2, code: 'processing_failed', isDueTomorrow: true })],
  ['PROCESSED', processed(acceptedLead)],
  ['DUPLICATE', processed(acceptedLead)],
  ['CONFLICT', processed(conflictingLead)],
  ['CANCELLED', cancelled],
  ['DEAD', withStatus('DEAD', { attempts: 8, code: 'worker_lost' })],
  ['PROCESSING', withStatus('PROCESSING', { isDueTomorrow: true })],
  ['PENDING', withStatus('PENDING', { isDueTomorrow: true })],
  ['INVALID', withStatus('INVALID', { code: 'invalid_payload' })],
]

async function statusOf({ service }: RowFixture, id: string): Promise<string | undefined> {
  const [row] = await service.database.crossTenantQuery<{ status: string }>(
    'check the database',
    sql`select status from import_rows where id = ${decodeId('row', id)}::uuid`,
  )
  return row?.status
}
