import type { Database, Transaction } from '../../platform/database/database.ts'
import { serviceActor } from '../../platform/model/caller.ts'
import { newId } from '../../platform/model/ids.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { type Lease, maxLossesInBatch } from '../../platform/queue/queue.ts'
import { leaveAnalysisQueue } from '../../crm/notes/store.ts'
import { readTimeZone } from '../../identity/organizations/store.ts'
import { maxTextLength, type NoteFacts, type StageKind } from '../analysis/analysis.ts'
import { isFree, isWaiting } from './queue-store.ts'

/** Notes of one organization that a worker has leased. */
export interface Claim extends Lease {
  notes: readonly ClaimedNote[]
}

export interface ClaimedNote {
  /** Uuid. */
  id: string
  /** Of the note whose text was read. */
  revision: number
  /** As far as it is analysed. */
  text: string
  facts: NoteFacts
  /** How often the note was claimed, including this time. */
  attempts: number
}

/** Days after which a waiting note is history: an upgrade must not flood people with suggestions about old notes. */
const maxAgeDays = 30
/** Maximum number of old notes that a claim removes from the queue. */
const maxOldNotes = 500

const isOld = raw(`note.reasoning_queued_at < now() - interval '${maxAgeDays} days'`)

export interface ClaimLimits {
  maxNotes: number
  leaseSeconds: number
}

/** Leases the next notes of the organization, longest waiting first, and reads them. */
export async function claimNotes(database: Database, organizationId: string, limits: ClaimLimits): Promise<Claim> {
  const lease = newId()
  const notes = await database.transaction(serviceActor('analysis', organizationId), async (transaction) => {
    await removeOldNotes(transaction)
    const attempts = await leaseNotes(transaction, lease, limits)
    return attempts.size === 0 ? [] : readNotes(transaction, attempts)
  })
  return { organizationId, lease, notes }
}

const removeOldNotes = (transaction: Transaction): Promise<object[]> =>
  leaveAnalysisQueue(
    transaction,
    sql`id = any(array(
      select note.id from notes note
      where note.organization_id = ${transaction.organization} and ${isWaiting} and ${isOld}
      order by note.reasoning_queued_at, note.id limit ${maxOldNotes} for no key update skip locked))`,
  )

/** The leased notes (uuids) and their attempts. */
async function leaseNotes(
  transaction: Transaction,
  lease: string,
  { maxNotes, leaseSeconds }: ClaimLimits,
): Promise<Map<string, number>> {
  const { organization } = transaction
  const rows = await transaction.query<{ id: string; attempts: number }>(sql`
    with waiting as (
      select note.id, note.reasoning_queued_at, coalesce(previous.attempts, 0) as attempts
      from notes note
      left join note_leases previous on previous.organization_id = ${organization} and previous.note_id = note.id
      where note.organization_id = ${organization} and ${isWaiting} and not ${isOld} and ${isFree(organization)}
      order by note.reasoning_queued_at, note.id limit ${maxNotes} for no key update of note skip locked),
    first as (select id, attempts from waiting order by reasoning_queued_at, id limit 1),
    taken as (
      select waiting.id from waiting, first
      where waiting.id = first.id
        or (first.attempts < ${maxLossesInBatch} and waiting.attempts < ${maxLossesInBatch})),
    -- Not the last part, so that the whole statement runs where the records are.
    leased as (
      insert into note_leases as current (organization_id, note_id, lease, expires_at)
      select ${organization}, id, ${lease}::uuid, now() + make_interval(secs => ${leaseSeconds}) from taken order by id
      on conflict (organization_id, note_id) do update set
        lease = excluded.lease, expires_at = excluded.expires_at, attempts = current.attempts + 1
      -- Another process may have claimed it since this statement began. Not every engine accepts now() here.
      where excluded.expires_at - current.expires_at >= make_interval(secs => ${leaseSeconds})
      returning note_id as id, attempts)
    select id, attempts from leased`)
  return new Map(rows.map(({ id, attempts }) => [id, attempts]))
}

interface NoteRow {
  id: string
  revision: number
  text: string
  contactTimeZone: string | null
  contactEmails: string[]
  contactPhones: string[]
  stageKind: StageKind | null
  hasOwner: boolean
  openTasks: number
  now: Date
}

async function readNotes(transaction: Transaction, attempts: ReadonlyMap<string, number>): Promise<ClaimedNote[]> {
  const { organization } = transaction
  const zone = await readTimeZone(transaction)
  const rows = await transaction.query<NoteRow>(sql`
    select note.id, note.revision, left(note.body, ${maxTextLength}) as text, contact.time_zone as "contactTimeZone",
      address_texts(contact.email, contact.emails, 'address') as "contactEmails",
      address_texts(contact.phone, contact.phones, 'number') as "contactPhones", now(),
      coalesce(deal.status, (select 'open' from deals other
        where other.organization_id = ${organization} and other.deleted_at is null and other.status = 'open'
          and (other.company_id = note.company_id or exists (select from deal_contacts link
            where link.organization_id = ${organization} and link.deal_id = other.id
              and link.contact_id = note.contact_id and link.deleted_at is null))
        limit 1)) as "stageKind",
      coalesce(contact.owner_id, company.owner_id, deal.owner_id) is not null as "hasOwner",
      (select count(*)::integer from tasks task
        where task.organization_id = ${organization} and not task.done and task.deleted_at is null
          and (task.contact_id = note.contact_id or task.company_id = note.company_id or task.deal_id = note.deal_id)
      ) as "openTasks"
    from notes note
    left join contacts contact on contact.organization_id = ${organization} and contact.id = note.contact_id
    left join companies company on company.organization_id = ${organization} and company.id = note.company_id
    left join deals deal on deal.organization_id = ${organization} and deal.id = note.deal_id
    where note.organization_id = ${organization} and note.id = any(${[...attempts.keys()]}::uuid[])
    order by note.reasoning_queued_at, note.id`)
  return rows.map(({ id, revision, text, ...facts }) => ({
    id,
    revision,
    text,
    facts: { ...facts, organizationTimeZone: zone },
    attempts: attempts.get(id) ?? 1,
  }))
}

/**
 * Gives notes back that were not analysed. `delaySeconds`: another attempt is made after this time; without it, they are
 * free immediately, and this attempt does not count. Repeating it changes nothing: nobody has the new token.
 */
export async function releaseNotes(
  database: Database,
  { organizationId, lease, notes }: Claim,
  delaySeconds?: number,
): Promise<void> {
  await database.transaction(serviceActor('analysis', organizationId), (transaction) =>
    transaction.query(sql`
      update note_leases set
        lease = ${newId()}::uuid, attempts = attempts - ${delaySeconds === undefined ? 1 : 0}::integer,
        expires_at = now() + make_interval(secs => ${delaySeconds ?? 0})
      where organization_id = ${transaction.organization} and lease = ${lease}::uuid
        and note_id = any(${notes.map(({ id }) => id)}::uuid[])`),
  )
}
