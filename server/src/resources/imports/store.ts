import type { JsonObject } from '../../platform/model/fields.ts'
import { sha256 } from '../../platform/secret/encryption.ts'
import type { Connection, CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { raw, sql } from '../../platform/model/sql.ts'
import { documentSql } from '../../platform/query/select.ts'
import { root } from '../../platform/query/target.ts'
import { standardStore, writeOne } from '../../platform/resource/store.ts'
import type { WrittenRecord } from '../../platform/resource/write.ts'
import { assignTeams } from '../../identity/teams/store.ts'
import { imports } from './resource.ts'
import { generateTriggerSecret } from './trigger.ts'

export const importStore = standardStore(imports, { beforeWrite: assignTeams })

/** An import and the secret part of its new URL, which only its hash is kept of. */
export interface ImportWithSecret {
  written: WrittenRecord
  secret: string
}

/** Makes an import with its trigger URL. Errors: 422. */
export async function createImport(transaction: Transaction, values: JsonObject): Promise<ImportWithSecret> {
  const written = await writeOne(importStore, transaction, { kind: 'create', values })
  return { written, secret: await addTrigger(transaction, written.id) }
}

export interface Rotation {
  importId: string
  /** How long the URLs from before stay good; 0 ends them at once. */
  overlapSeconds: number
  /** Revisions that the caller allows; any when undefined. */
  revisions?: readonly number[] | undefined
}

/**
 * Gives the import a new trigger URL. No URL from before stays good for longer than the overlap, and one that has an end
 * already keeps it when it is earlier: whoever repeats a rotation whose answer was lost ends nothing too early.
 * Errors: 404, 412.
 */
export async function rotateTrigger(
  transaction: Transaction,
  { importId, overlapSeconds, revisions }: Rotation,
): Promise<ImportWithSecret & { previousEndsAt: string | null }> {
  // No field changes and the revision does: a caller who read the import before has not seen this.
  const columns = ({ name }: JsonObject) => ({ name: name ?? null })
  // Locks the import, so that of two rotations at once one sees what the other did.
  const change = { kind: 'update', id: importId, values: {}, columns, revisions } as const
  const written = await writeOne(importStore, transaction, change)
  const previous = await transaction.query<{ endsAt: string }>(sql`
    update import_triggers set expires_at = least(expires_at, now() + make_interval(secs => ${overlapSeconds}))
    where organization_id = ${transaction.organization} and import_id = ${importId}::uuid
    returning to_char(expires_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "endsAt"`)
  await transaction.query(sql`
    delete from import_triggers
    where organization_id = ${transaction.organization} and import_id = ${importId}::uuid and expires_at <= now()`)
  const secret = await addTrigger(transaction, importId)
  const last = previous
    .map(({ endsAt }) => endsAt)
    .sort()
    .at(-1)
  return { written, secret, previousEndsAt: overlapSeconds === 0 ? null : (last ?? null) }
}

/** The import that `bootstrap` makes, in the transaction of the organization that it makes. */
export async function insertFirstImport(
  db: CrossTenantConnection,
  first: { organizationId: string; id: string; teamId: string; name: string; secret: string },
): Promise<void> {
  const { organizationId, id, teamId, name, secret } = first
  await db.query(
    sql`insert into imports (organization_id, id, team_id, name) values (${organizationId}, ${id}, ${teamId}, ${name})`,
  )
  await db.query(
    sql`insert into import_triggers (organization_id, import_id, hash)
      values (${organizationId}, ${id}, ${sha256(secret)})`,
  )
}

/** Every import that is not deleted, as a JSON array of records, the newest first. */
export async function readAllImports(db: Connection): Promise<string> {
  const [row] = await db.query<{ text: string }>(sql`
    select '[' || coalesce(string_agg(text, ',' order by created_at desc, id desc), '') || ']' as text from (
      select ${documentSql(imports)} as text, created_at, id from imports ${raw(root)}
      where organization_id = ${db.organization} and deleted_at is null) every`)
  if (!row) throw new Error('an aggregate is always one row')
  return row.text
}

/** The uuids of the imports of this name, whatever its case and accents. */
export async function findImports(db: Connection, name: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id from imports
    where organization_id = ${db.organization} and search = fold(${name}) and deleted_at is null order by id`)
  return rows.map(({ id }) => id)
}

async function addTrigger(transaction: Transaction, importId: string): Promise<string> {
  const secret = generateTriggerSecret()
  await transaction.query(sql`
    insert into import_triggers (organization_id, import_id, hash)
    values (${transaction.organization}, ${importId}::uuid, ${sha256(secret)})`)
  return secret
}
