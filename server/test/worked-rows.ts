import { sql } from '../src/platform/model/sql.ts'
import type { JsonObject } from '../src/platform/model/fields.ts'
import { newId, readId } from '../src/platform/model/ids.ts'
import { processNextBatch } from '../src/resources/imports/work/batch.ts'
import { pushRoute } from '../src/resources/imports/intake/push-route.ts'
import { finding, type FindingCode, type RowStatus } from '../src/resources/imports/resource.ts'
import type { Fixture } from './collections.ts'

/** The trigger URLs of an organization, and real rows that were pushed at them. */
export interface Pushes {
  /** Keeps the secret of an import's URL, which is told this once. */
  learn(importId: string, triggerUrl: string): void
  /** The secret part of the import's URL. */
  hashOf(importId: string): string
  /** Pushes a lead and works on it; the id of its row. */
  push(importId: string, lead: JsonObject): Promise<string>
  /** A row of the import that nobody works on any more, or not soon: in another state each time, the id of it. */
  row(importId: string): Promise<string>
}

type Maker = Pick<Fixture, 'service' | 'organization' | 'request'>

export function pushesOf(maker: Maker): Pushes {
  const secrets = new Map<string, string>()
  let made = 0
  const pushes: Pushes = {
    learn: (importId, triggerUrl) => void secrets.set(importId, triggerUrl.split('/').at(-1) ?? ''),
    hashOf(importId) {
      const hash = secrets.get(importId)
      if (hash === undefined) throw new Error(`Nobody was told the URL of ${importId}`)
      return hash
    },
    async push(importId, lead) {
      const id = await accepted(maker, { importId, hash: pushes.hashOf(importId) }, lead)
      await workOff(maker)
      await age(maker)
      return id
    },
    async row(importId) {
      const [status, make] = kinds[made % kinds.length] ?? ['PROCESSED', worked(taken)]
      const round = Math.floor(made++ / kinds.length)
      const id = await make({ maker, pushes, importId, round })
      const found = await statusOf(maker, id)
      if (found !== status) throw new Error(`A row that should be ${status} is ${found}`)
      await age(maker)
      return id
    },
  }
  return pushes
}

async function accepted({ request: ask }: Maker, params: Record<string, string>, body: JsonObject): Promise<string> {
  const answer = await ask(pushRoute, { params, body })
  if (answer.status !== 200) throw new Error(`A push was refused: ${answer.text}`)
  return answer.body.id
}

/** What a worker would do, here and now. */
async function workOff({ service, organization }: Maker): Promise<void> {
  const organizationId = readId('org', organization.organizationId) ?? ''
  const batch = { maxRows: 100, leaseSeconds: 60, onClaimed: () => undefined }
  for (let isMore = true; isMore;) isMore = await processNextBatch(service.database, organizationId, batch)
}

/** As if all of it was long ago: the rate of the last minute would change by itself while a test looks at an import. */
async function age({ service, organization }: Maker): Promise<void> {
  await service.database.crossTenantQuery(
    'check the database',
    sql`update import_row_counts set counted_at = counted_at - interval '1 day'
      where organization_id = ${readId('org', organization.organizationId)}::uuid
        and counted_at > now() - interval '1 hour'`,
  )
}

interface Turn {
  maker: Maker
  pushes: Pushes
  importId: string
  /** Sets the leads of one round of kinds apart from those of another. */
  round: number
}
type Kind = (turn: Turn) => Promise<string>
type LeadOf = (round: number) => JsonObject

/** A job that ends before it begins is left out. */
const partly: LeadOf = (round) => ({
  contact: { email: `partly.${round}@example.com`, externalIdCrm: `crm-${round}` },
  employment: { history: [{ organization: 'Engines', start: '2021-01', end: '2020-01' }] },
  company: { name: `Employer ${round}` },
})

const taken: LeadOf = (round) => ({
  contact: { email: `taken.${round}@example.com`, name: 'Ada Lovelace', note: 'Met at the fair', favourite: 'blue' },
  employment: { title: 'Analyst', history: [{ organization: 'Engines', start: '2020-01', current: true }] },
  company: { name: `Engines ${round}`, domain: `engines-${round}.com` },
})

/** The keys of two contacts. */
const torn: LeadOf = (round) => ({
  contact: { email: `taken.${round}@example.com`, externalIdCrm: `crm-${round}` },
})

const worked =
  (lead: LeadOf): Kind =>
  ({ pushes, importId, round }) =>
    pushes.push(importId, lead(round))

const cancelled: Kind = async ({ maker, pushes, importId, round }) => {
  const id = await accepted(maker, { importId, hash: pushes.hashOf(importId) }, taken(round))
  const path = `/v5/imports/${importId}/rows/cancel?filter.id.equals=${id}`
  const { status, text } = await maker.organization.call('POST', path)
  if (status !== 200) throw new Error(`A row was not cancelled: ${text}`)
  return id
}

/** As a row would be that this happened to: here it is only said so. */
const struck =
  (status: RowStatus, { attempts = 0, code, waits = false }: Trouble): Kind =>
  async ({ maker, pushes, importId, round }) => {
    const id = await accepted(maker, { importId, hash: pushes.hashOf(importId) }, taken(round))
    const errors = code === undefined ? [] : [finding(code, '', 'as a test says')]
    await maker.service.database.crossTenantQuery(
      'check the database',
      sql`update import_rows set status = ${status}, attempts = ${attempts}, errors = ${JSON.stringify(errors)}::json,
          error_codes = ${errors.map((error) => error.code)}::text[],
          lease = ${status === 'PROCESSING' ? newId() : null}::uuid,
          run_at = case when ${waits} then now() + interval '1 day' end,
          finished_at = case when not ${waits} then now() end,
          created_at = created_at - make_interval(days => ${attempts})
        where id = ${readId('row', id)}::uuid`,
    )
    return id
  }

interface Trouble {
  attempts?: number
  code?: FindingCode
  /** Whether someone works on it, or will: not before tomorrow. */
  waits?: boolean
}

/** In their turn: what can be retried and what can be cancelled come first, so that a few rows have both. */
const kinds: readonly (readonly [RowStatus, Kind])[] = [
  ['PARTIAL', worked(partly)],
  ['RETRYING', struck('RETRYING', { attempts: 2, code: 'processing_failed', waits: true })],
  ['PROCESSED', worked(taken)],
  ['DUPLICATE', worked(taken)],
  ['CONFLICT', worked(torn)],
  ['CANCELLED', cancelled],
  ['DEAD', struck('DEAD', { attempts: 8, code: 'worker_lost' })],
  ['PROCESSING', struck('PROCESSING', { waits: true })],
  ['PENDING', struck('PENDING', { waits: true })],
  ['INVALID', struck('INVALID', { code: 'invalid_payload' })],
]

async function statusOf({ service }: Maker, id: string): Promise<string | undefined> {
  const [row] = await service.database.crossTenantQuery<{ status: string }>(
    'check the database',
    sql`select status from import_rows where id = ${readId('row', id)}::uuid`,
  )
  return row?.status
}
