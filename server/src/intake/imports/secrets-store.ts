import type { CrossTenantConnection, Transaction } from '../../platform/database/database.ts'
import { identifier, type Sql, sql } from '../../platform/model/sql.ts'
import { sha256 } from '../../platform/secret/encryption.ts'
import { generateTriggerSecret } from './trigger.ts'

/**
 * The hashes of secret URLs are stored twice, in one transaction: the directory finds the organization of an import, and
 * a push is checked with the records of the organization.
 */
const tables = ['import_triggers', 'import_secrets'].map(identifier)

const inBoth = <Row extends object>(
  db: Pick<Transaction, 'query'> | CrossTenantConnection,
  statement: (table: Sql) => Sql,
): Promise<Row[][]> => Promise.all(tables.map((table) => db.query<Row>(statement(table))))

/** Adds a secret to the import and returns it. Only its hash is stored. */
export async function addSecret(transaction: Transaction, importId: string): Promise<string> {
  const secret = generateTriggerSecret()
  await insertSecret(transaction, { organization: transaction.organization, importId, secret })
  return secret
}

export async function insertSecret(
  db: Pick<Transaction, 'query'> | CrossTenantConnection,
  { organization, importId, secret }: { organization: Sql; importId: string; secret: string },
): Promise<void> {
  await inBoth(
    db,
    (table) => sql`insert into ${table} (organization_id, import_id, hash)
      values (${organization}, ${importId}::uuid, ${sha256(secret)})`,
  )
}

/** Shortens the time for which the secrets of the import are valid, and deletes those that are not. Returns their ends. */
export async function expireSecrets(
  transaction: Transaction,
  { importId, seconds }: { importId: string; seconds: number },
): Promise<string[]> {
  const ofImport = sql`organization_id = ${transaction.organization} and import_id = ${importId}::uuid`
  const [ends] = await inBoth<{ expires_at: Date }>(
    transaction,
    (table) => sql`
      update ${table} set expires_at = least(expires_at, now() + make_interval(secs => ${seconds})) where ${ofImport}
      returning expires_at`,
  )
  await inBoth(transaction, (table) => sql`delete from ${table} where ${ofImport} and expires_at <= now()`)
  return ends?.map(({ expires_at }) => expires_at.toISOString()) ?? []
}

export async function deleteSecrets(transaction: Transaction, importIds: readonly string[]): Promise<void> {
  await inBoth(
    transaction,
    (table) => sql`delete from ${table}
      where organization_id = ${transaction.organization} and import_id = any(${importIds}::uuid[])`,
  )
}
