import { ApiError } from '../../platform/model/errors.ts'
import type { Connection, CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { visibleOrganization } from '../../platform/records/filter/scope.ts'
import { documentSql } from '../../platform/records/page/select.ts'
import { root } from '../../platform/records/filter/target.ts'
import { recordFirstRecords } from '../../platform/records/write/events.ts'
import { standardStore, writeOne } from '../../platform/records/write/store.ts'
import { assignTeams } from '../../identity/teams/store.ts'
import { imports } from './resource.ts'
import { seesEveryPush } from '../row-reach/store.ts'
import { addSecret, expireSecrets, insertSecret } from './secrets-store.ts'
import type { WrittenRecord } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** Of `import_rows`; the index of the queue contains these rows. */
export const waiting = raw(`status in ('PENDING', 'RETRYING', 'PROCESSING')`)

export const importStore = standardStore(imports, {
  async beforeWrite(transaction, pending) {
    await assignTeams(transaction, pending)
    for (const { before, columns } of pending) if (!before) columns.created_by_id = transaction.actor.userId
  },
})

/** An import and the secret of its new URL, of which only the hash is stored. */
export interface ImportWithSecret {
  written: WrittenRecord
  secret: string
}

/** Creates an import with its trigger URL. Errors: 403, 422. */
export async function createImport(transaction: Transaction, values: JsonObject): Promise<ImportWithSecret> {
  assertMayPush(transaction)
  const written = await writeOne(importStore, transaction, { kind: 'create', values })
  return { written, secret: await addSecret(transaction, written.id) }
}

/** A push changes whatever contacts and companies it matches, so only people who see all of them may send any. Error: 403. */
export function assertMayPush({ actor }: Pick<Connection, 'actor'>): void {
  if (seesEveryPush(actor)) return
  throw new ApiError(
    'insufficient_permissions',
    'Pushes can change any contact and company, and your role does not see all of them. Ask an owner or an admin.',
  )
}

export interface Rotation {
  importId: string
  /** Seconds for which previous URLs stay valid; 0 revokes them immediately. */
  overlapSeconds: number
  /** Revisions that the caller allows; undefined allows any. */
  revisions?: readonly number[] | undefined
}

/**
 * Replaces the trigger URL. Previous URLs expire after the overlap, or earlier if they already expire earlier: so a
 * rotation that is repeated because its response was lost revokes nothing too early. Errors: 403, 404, 412.
 */
export async function rotateTrigger(
  transaction: Transaction,
  { importId, overlapSeconds, revisions }: Rotation,
): Promise<ImportWithSecret & { previousEndsAt: string | null }> {
  assertMayPush(transaction)
  // The revision changes although no field does, because a caller who has read the import has not seen the rotation.
  const columns = ({ name }: JsonObject) => ({ name: name ?? null })
  // Locks the import, so that of two concurrent rotations one sees the effect of the other.
  const change = { kind: 'update', id: importId, values: {}, columns, revisions } as const
  const written = await writeOne(importStore, transaction, change)
  const ends = await expireSecrets(transaction, { importId, seconds: overlapSeconds })
  const secret = await addSecret(transaction, importId)
  const last = ends.sort().at(-1)
  return { written, secret, previousEndsAt: overlapSeconds === 0 ? null : (last ?? null) }
}

/** Inserts the import of `bootstrap`, in the transaction that creates its organization. */
export async function insertFirstImport(
  db: CrossTenantConnection,
  first: { organizationId: string; id: string; teamId: string; name: string; secret: string },
): Promise<void> {
  const { organizationId, id, teamId, name, secret } = first
  await db.query(
    sql`insert into imports (organization_id, id, team_id, name) values (${organizationId}, ${id}, ${teamId}, ${name})`,
  )
  await recordFirstRecords(db, organizationId, imports)
  await insertSecret(db, { organization: sql`${organizationId}::uuid`, importId: id, secret })
}

/** All imports that are not deleted, as a JSON array, newest first. */
export async function readAllImports(db: Connection): Promise<string> {
  const [row] = await db.query<{ text: string }>(sql`
    select '[' || coalesce(string_agg(text, ',' order by created_at desc, id desc), '') || ']' as text from (
      select ${documentSql(imports, { organization: visibleOrganization(db) })} as text, created_at, id from imports ${raw(root)}
      where organization_id = ${db.organization} and deleted_at is null) every`)
  if (!row) throw new Error('an aggregate is always one row')
  return row.text
}

/** Uuids of the imports with this name, ignoring case and accents. */
export async function findImports(db: Connection, name: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id from imports
    where organization_id = ${db.organization} and search = fold(${name}) and deleted_at is null order by id`)
  return rows.map(({ id }) => id)
}
