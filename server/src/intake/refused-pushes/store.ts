import type { Database, Transaction } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import type { FieldError } from '../../platform/model/errors.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { notFound, readRecord } from '../../platform/records/page/read.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { seal, unseal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import { alarmingRefusals } from '../imports/resource.ts'
import { maxRefusals, refusedPushDetails, refusedPushes } from './resource.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** Refused pushes as shown in lists. */
export const refusedPushStore = standardStore(refusedPushes)

/** Refused pushes with their bodies, which are still encrypted: see `withOpenBody`. */
export const refusedPushDetailsStore = standardStore(refusedPushDetails)

/** A push that is to be stored as refused; ids are uuids. */
export interface Refusal {
  id: string
  importId: string
  at: Date
  code: string
  message: string
  details: readonly FieldError[]
  email: string | undefined
  sender: string
  address: string
  userAgent: string | undefined
  contentType: string | undefined
  body: Uint8Array
  isTruncated: boolean
}

/** Consecutive refused pushes of one sender of an import, since the last accepted one. */
export interface RefusedSender {
  importId: string
  /** Empty for all senders of the import together. */
  sender: string
  /** True if a push was accepted before these. */
  isReset: boolean
  refused: number
  at: Date
  code: string
  message: string
}

/** Number of refused pushes of an import in a quarter of an hour. */
export interface RefusalCount {
  importId: string
  code: string
  quarter: Date
  count: number
}

/** Encrypts the body of the refused push (uuid). */
const sealBody = (secret: Secret, id: string, body: Uint8Array): Buffer =>
  seal(deriveKey(secret, 'refused push', id), body)

/** Decrypts the body in the text of a record (uuid), if it has one. */
export function withOpenBody(secret: Secret, id: string, text: string): string {
  const record = JSON.parse(text) as JsonObject
  if (typeof record.body !== 'string') return text
  const bytes = unseal(deriveKey(secret, 'refused push', id), Buffer.from(record.body, 'base64'))
  return JSON.stringify({ ...record, body: textOf(bytes) })
}

/** The bytes as UTF-8, and if they are not, as the encoding of old Windows programs, in which every byte is a letter. */
function textOf(bytes: Uint8Array): string {
  try {
    // The last character may be cut off.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

/** Stores refused pushes, and deletes the oldest ones of imports that have too many. Not of imports that were purged. */
export async function insertRefusals(db: Transaction, secret: Secret, refusals: readonly Refusal[]): Promise<void> {
  const column = (valueOf: (refusal: Refusal) => unknown) => refusals.map(valueOf)
  await db.query(sql`
    insert into refused_pushes (organization_id, id, import_id, code, message, details, email, email_key, sender, address,
      user_agent, content_type, body_bytes, is_truncated, content_sealed, created_at, updated_at)
    select ${db.organization}, given.id, given.import_id, given.code, given.message, given.details::json, given.email,
      given.email_key, given.sender, given.address, given.user_agent, given.content_type, given.body_bytes,
      given.is_truncated, given.content_sealed, given.created_at, given.created_at
    from unnest(${column(({ id }) => id)}::uuid[], ${column(({ importId }) => importId)}::uuid[],
      ${column(({ code }) => code)}::text[], ${column(({ message }) => message)}::text[],
      ${column(({ details }) => JSON.stringify(details))}::text[], ${column(({ email }) => email ?? null)}::text[],
      ${column(({ email }) => (email === undefined ? null : emailKey(email)))}::text[],
      ${column(({ sender }) => sender)}::text[], ${column(({ address }) => address)}::text[],
      ${column(({ userAgent }) => userAgent ?? null)}::text[],
      ${column(({ contentType }) => contentType ?? null)}::text[], ${column(({ body }) => body.length)}::int[],
      ${column(({ isTruncated }) => isTruncated)}::boolean[],
      ${column(({ id, body }) => sealBody(secret, id, body))}::bytea[], ${column(({ at }) => at)}::timestamptz[])
      given (id, import_id, code, message, details, email, email_key, sender, address, user_agent, content_type,
        body_bytes, is_truncated, content_sealed, created_at)
    join imports on imports.organization_id = ${db.organization} and imports.id = given.import_id
    on conflict (organization_id, id) do nothing`)
  for (const importId of new Set(refusals.map((refusal) => refusal.importId))) await deleteOldest(db, importId)
}

const newestFirst = raw('order by created_at desc, id desc')

const deleteOldest = (db: Transaction, importId: string): Promise<object[]> => {
  const ofImport = sql`organization_id = ${db.organization} and import_id = ${importId}::uuid`
  return db.query(sql`
    delete from refused_pushes where ${ofImport} and id in (
      select id from (
        select id, row_number() over (${newestFirst}) as place, sum(body_bytes) over (${newestFirst}) as bytes
        from refused_pushes where ${ofImport}) stored
      where place > ${maxRefusals.items}::int or bytes > ${maxRefusals.bytes}::bigint)`)
}

/** Adds to the counts, which outlive the pushes. */
export async function addRefusalCounts(db: Transaction, counts: readonly RefusalCount[]): Promise<void> {
  await db.query(sql`
    insert into refused_push_counts (organization_id, import_id, code, counted_at, count)
    select ${db.organization}, given.import_id, given.code, given.counted_at, given.count
    from unnest(${counts.map(({ importId }) => importId)}::uuid[], ${counts.map(({ code }) => code)}::text[],
      ${counts.map(({ quarter }) => quarter)}::timestamptz[], ${counts.map(({ count }) => count)}::bigint[])
      given (import_id, code, counted_at, count)
    join imports on imports.organization_id = ${db.organization} and imports.id = given.import_id
    order by given.import_id, given.code, given.counted_at
    on conflict (organization_id, import_id, counted_at, code) do update
      set count = refused_push_counts.count + excluded.count`)
}

/** Maximum number of senders of an import that are remembered. */
const maxSenders = 200

/** Counts consecutive refusals. Returns the senders that are to be reported from now on. */
export async function updateSenders(db: Transaction, senders: readonly RefusedSender[]): Promise<RefusedSender[]> {
  await forgetSenders(
    db,
    senders.filter(({ isReset }) => isReset),
  )
  const refused = senders.filter((one) => one.refused > 0)
  if (refused.length === 0) return []
  const column = (valueOf: (sender: RefusedSender) => unknown) => refused.map(valueOf)
  const stored = await db.query<{ importId: string; sender: string; refused: number }>(sql`
    insert into refused_senders (organization_id, import_id, sender, refused, since, last_at, code, message)
    select ${db.organization}, given.import_id, given.sender, given.refused, given.at, given.at, given.code, given.message
    from unnest(${column(({ importId }) => importId)}::uuid[], ${column(({ sender }) => sender)}::text[],
      ${column((one) => one.refused)}::int[], ${column(({ at }) => at)}::timestamptz[],
      ${column(({ code }) => code)}::text[], ${column(({ message }) => message)}::text[])
      given (import_id, sender, refused, at, code, message)
    join imports on imports.organization_id = ${db.organization} and imports.id = given.import_id
    order by given.import_id, given.sender
    on conflict (organization_id, import_id, sender) do update
      set refused = refused_senders.refused + excluded.refused, last_at = excluded.last_at, code = excluded.code,
        message = excluded.message
    returning import_id as "importId", sender, refused`)
  for (const importId of new Set(refused.map((one) => one.importId))) await forgetOldest(db, importId)
  const isNew = ({ importId, sender, refused: added }: RefusedSender): boolean => {
    const total = stored.find((one) => one.importId === importId && one.sender === sender)?.refused ?? 0
    return total >= alarmingRefusals && total - added < alarmingRefusals
  }
  return refused.filter(isNew)
}

async function forgetSenders(db: Transaction, senders: readonly RefusedSender[]): Promise<void> {
  if (senders.length === 0) return
  await db.query(sql`
    delete from refused_senders where organization_id = ${db.organization} and (import_id, sender) in (
      select * from unnest(${senders.map(({ importId }) => importId)}::uuid[],
        ${senders.map(({ sender }) => sender)}::text[]))`)
}

const forgetOldest = (db: Transaction, importId: string): Promise<object[]> => {
  const ofImport = sql`organization_id = ${db.organization} and import_id = ${importId}::uuid`
  return db.query(sql`
    delete from refused_senders where ${ofImport} and sender in (
      select sender from refused_senders where ${ofImport} order by last_at desc, sender offset ${maxSenders}::int)`)
}

/** The row of an accepted push; locks the push. Errors: 404. */
export async function lockRefusedPush(
  db: Transaction,
  { id, importId }: { id: string; importId: string },
): Promise<{ rowId: string | null }> {
  await readRecord(db, refusedPushes, id, { parentId: importId })
  const [row] = await db.query<{ rowId: string | null }>(sql`
    select row_id as "rowId" from refused_pushes
    where organization_id = ${db.organization} and id = ${id}::uuid and import_id = ${importId}::uuid for update`)
  if (!row) throw notFound(refusedPushes)
  return row
}

/** Errors: 404. */
export async function deleteRefusedPush(db: Transaction, push: { id: string; importId: string }): Promise<void> {
  await lockRefusedPush(db, push)
  await db.query(sql`delete from refused_pushes where organization_id = ${db.organization} and id = ${push.id}::uuid`)
}

/** Number of imports with a sender whose last pushes were all refused. */
export async function countAlarmingImports(database: Database): Promise<number> {
  const [row] = await database.crossTenantQuery<{ count: number }>(
    'count refused senders',
    sql`select count(*)::int as count from (
      select organization_id, import_id from refused_senders where refused >= ${raw(String(alarmingRefusals))}
      group by 1, 2) alarming`,
  )
  return row?.count ?? 0
}
