import type pg from 'pg'
import { seal, unseal } from '../platform/secret/encryption.ts'
import { deriveKey, fingerprint, type Purpose, type Secret } from '../platform/secret/secret.ts'
import { readMigrations } from '../platform/database/migrate.ts'
import { namesCreatedBy, readCatalog } from '../platform/backup/catalog.ts'
import { migrationsFolder } from '../release.ts'
import { Failure } from './command.ts'

/** Columns that are encrypted under keys derived from SECRET, and which key belongs to a row. */
const encryptedColumns = [
  { table: 'signing_keys', column: 'private_key_encrypted', id: 'id', type: 'text', purpose: 'signing key' },
  { table: 'totp_secrets', column: 'secret_encrypted', id: 'user_id', type: 'uuid', purpose: 'totp secret' },
  { table: 'mails', column: 'body_sealed', id: 'id', type: 'uuid', purpose: 'mail' },
  { table: 'sso_connections', column: 'client_secret_encrypted', id: 'id', type: 'uuid', purpose: 'client secret' },
] as const satisfies readonly EncryptedColumn[]

interface EncryptedColumn {
  table: string
  column: string
  id: string
  type: 'text' | 'uuid'
  purpose: Purpose
}

/**
 * What only SECRET can read, by the column that it is in, and how it goes when the secret is lost. What was sealed of a mail
 * that is still to be sent is composed anew, from the rest; a connection without its client secret says so.
 */
const removalStatements: Readonly<Record<string, string>> = {
  'instance.value': `delete from instance where name = 'secret_fingerprint'`,
  'signing_keys.private_key_encrypted': 'delete from signing_keys',
  // Refresh tokens are derived from it.
  'sessions.nonce': 'delete from sessions',
  'idempotency_answers.answer_encrypted': 'delete from idempotency_answers',
  'totp_secrets.secret_encrypted': 'delete from totp_secrets',
  'users.second_factors': `update users set second_factors = array_remove(second_factors, 'totp')
    where 'totp' = any(second_factors)`,
  'mails.body_sealed': 'update mails set body_sealed = null where body_sealed is not null',
  'sso_connections.client_secret_encrypted': `update sso_connections
    set client_secret_encrypted = null, revision = revision + 1, updated_at = now()
    where client_secret_encrypted is not null`,
}

/**
 * Takes out what only the lost secret could read; with the next start the database belongs to a new one. The schema may be
 * an older one, which does not have all of it yet.
 */
export async function removeEncryptedData(client: pg.Client): Promise<void> {
  const { tables } = await readCatalog(client, namesCreatedBy(await readMigrations(migrationsFolder)))
  const columns = new Set(tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column}`)))
  for (const [column, statement] of Object.entries(removalStatements))
    if (columns.has(column)) await client.query(statement)
}

export interface Secrets {
  current: Secret
  next: Secret
}

/** What a replacement changed. */
export interface ReencryptionCounts {
  /** Values that were encrypted again. */
  resealed: number
  endedSessions: number
  deletedAnswers: number
}

/**
 * Makes the database belong to the next secret, as a part of the running transaction. Sessions end, because their refresh
 * tokens are derived from the secret, but stay as rows: devices remain known. Stored answers go, because their keys are
 * derived from an Idempotency-Key that only the caller has. Error: `Failure`.
 */
export async function reencryptAll(client: pg.Client, secrets: Secrets): Promise<ReencryptionCounts> {
  let resealed = 0
  for (const column of encryptedColumns) resealed += await reencryptColumn(client, column, secrets)
  const ended = await client.query('update sessions set ended_at = now() where ended_at is null')
  const deleted = await client.query('delete from idempotency_answers')
  await client.query(`update instance set value = $1 where name = 'secret_fingerprint'`, [fingerprint(secrets.next)])
  return { resealed, endedSessions: ended.rowCount ?? 0, deletedAnswers: deleted.rowCount ?? 0 }
}

const batchSize = 500

async function reencryptColumn(
  client: pg.Client,
  { table, column, id, type, purpose }: EncryptedColumn,
  { current, next }: Secrets,
): Promise<number> {
  let done = 0
  await client.query(
    `declare sealed_values no scroll cursor for
      select ${id}::text as id, ${column} as sealed from ${table} where ${column} is not null`,
  )
  for (;;) {
    const { rows } = await client.query<{ id: string; sealed: Buffer }>(`fetch ${batchSize} from sealed_values`)
    if (rows.length === 0) break
    const values = rows.map((row) => {
      try {
        return seal(deriveKey(next, purpose, row.id), unseal(deriveKey(current, purpose, row.id), row.sealed))
      } catch (cause) {
        throw new Failure(
          `${table}.${column} of ${row.id} cannot be decrypted with the current secret. Nothing was changed.`,
          { cause },
        )
      }
    })
    await client.query(
      `update ${table} set ${column} = anew.sealed from unnest($1::${type}[], $2::bytea[]) as anew (id, sealed)
        where ${table}.${id} = anew.id`,
      [rows.map((row) => row.id), values],
    )
    done += rows.length
  }
  await client.query('close sealed_values')
  return done
}
