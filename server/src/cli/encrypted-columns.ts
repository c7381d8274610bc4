import type pg from 'pg'
import { seal, unseal } from '../platform/secret/encryption.ts'
import { deriveKey, fingerprint, type Purpose, type Secret } from '../platform/secret/secret.ts'
import { readMigrations } from '../platform/database/migrate.ts'
import { namesCreatedBy, readCatalog } from '../platform/operations/backup/catalog.ts'
import { migrationsFolder } from '../release.ts'
import { Failure } from './command.ts'

/** Columns that are encrypted with keys derived from SECRET, and the purpose of each key. */
const encryptedColumns = [
  { table: 'signing_keys', column: 'private_key_encrypted', id: 'id', type: 'text', purpose: 'signing key' },
  { table: 'totp_secrets', column: 'secret_encrypted', id: 'user_id', type: 'uuid', purpose: 'totp secret' },
  { table: 'mails', column: 'body_sealed', id: 'id', type: 'uuid', purpose: 'mail' },
  { table: 'refused_pushes', column: 'content_sealed', id: 'id', type: 'uuid', purpose: 'refused push' },
  { table: 'sso_connections', column: 'client_secret_encrypted', id: 'id', type: 'uuid', purpose: 'client secret' },
  { table: 'webhook_secrets', column: 'secret_sealed', id: 'id', type: 'uuid', purpose: 'webhook secret' },
  { table: 'webhooks', column: 'headers_sealed', id: 'id', type: 'uuid', purpose: 'webhook headers' },
  { table: 'push_keys', column: 'private_key_sealed', id: 'id', type: 'uuid', purpose: 'push key' },
  { table: 'push_subscriptions', column: 'target_sealed', id: 'id', type: 'uuid', purpose: 'push subscription' },
] as const satisfies readonly EncryptedColumn[]

interface EncryptedColumn {
  table: string
  column: string
  id: string
  type: 'text' | 'uuid'
  purpose: Purpose
}

/**
 * Data that only SECRET can decrypt, by column, and how it is removed when the secret is lost. Mails that are still to
 * be sent are composed again from the rest of the row; a connection without its client secret and a webhook report that.
 */
const removalStatements: Readonly<Record<string, string>> = {
  'instance.value': `delete from instance where name = 'secret_fingerprint'`,
  'signing_keys.private_key_encrypted': 'delete from signing_keys',
  // Refresh tokens are derived from the nonce.
  'sessions.nonce': 'delete from sessions',
  'idempotency_answers.answer_encrypted': 'delete from idempotency_answers',
  'totp_secrets.secret_encrypted': 'delete from totp_secrets',
  'users.second_factors': `update users set second_factors = array_remove(second_factors, 'totp')
    where 'totp' = any(second_factors)`,
  'mails.body_sealed': 'update mails set body_sealed = null where body_sealed is not null',
  'refused_pushes.content_sealed': 'update refused_pushes set content_sealed = null where content_sealed is not null',
  'sso_connections.client_secret_encrypted': `update sso_connections
    set client_secret_encrypted = null, revision = revision + 1, updated_at = now()
    where client_secret_encrypted is not null`,
  'webhook_secrets.secret_sealed': 'delete from webhook_secrets',
  // Browsers subscribe to the public key, so they subscribe again.
  'push_keys.private_key_sealed': 'delete from push_keys',
  'push_subscriptions.target_sealed': 'delete from push_subscriptions',
  'webhooks.headers_sealed': `update webhooks set headers_sealed = null, header_names = '{}', status = 'disabled', status_reason = 'secret_lost',
    revision = revision + 1, updated_at = now()`,
}

/**
 * Removes what only the lost secret could decrypt; at the next start, the database adopts a new secret. An older schema
 * may lack some of the columns.
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

export interface ReencryptionCounts {
  /** Number of values that were encrypted again. */
  resealed: number
  endedSessions: number
  deletedAnswers: number
}

/**
 * Switches the database to the next secret, in the current transaction. Sessions end, because their refresh tokens are
 * derived from the secret, but their rows stay, so that devices remain known. Stored responses are deleted, because
 * their keys are derived from an Idempotency-Key that only the caller has. Error: `Failure`.
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
    `declare encrypted_values no scroll cursor for
      select ${id}::text as id, ${column} as encrypted from ${table} where ${column} is not null`,
  )
  for (;;) {
    const { rows } = await client.query<{ id: string; encrypted: Buffer }>(`fetch ${batchSize} from encrypted_values`)
    if (rows.length === 0) break
    const values = rows.map((row) => {
      try {
        return seal(deriveKey(next, purpose, row.id), unseal(deriveKey(current, purpose, row.id), row.encrypted))
      } catch (cause) {
        throw new Failure(
          `${table}.${column} of ${row.id} cannot be decrypted with the current secret. Nothing was changed.`,
          { cause },
        )
      }
    })
    await client.query(
      `update ${table} set ${column} = renewed.value from unnest($1::${type}[], $2::bytea[]) as renewed (id, value)
        where ${table}.${id} = renewed.id`,
      [rows.map((row) => row.id), values],
    )
    done += rows.length
  }
  await client.query('close encrypted_values')
  return done
}
