import { randomBytes } from 'node:crypto'
import { seal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { identifier, sql } from '../../platform/model/sql.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { newId } from '../../platform/model/ids.ts'
import { notFound } from '../../platform/records/page/read.ts'
import { standardStore, writeOne } from '../../platform/records/write/store.ts'
import { ssoConnections } from './connection.ts'
import { domains } from './domain.ts'
import type { WrittenRecord } from '../../platform/records/declare/changes.ts'
import type { JsonObject } from '../../platform/model/json.ts'

export const connectionStore = standardStore(ssoConnections)
export const domainStore = standardStore(domains)

/** Encrypts the client secret of the connection (uuid); in the bytea text format that recordsets use. */
export const encryptClientSecret = (secret: Secret, connectionId: string, text: string): string =>
  `\\x${seal(deriveKey(secret, 'client secret', connectionId), Buffer.from(text)).toString('hex')}`

/** Creates a connection; `clientSecret` is null for a client without a secret. Errors: 422. */
export async function createConnection(
  transaction: Transaction,
  secret: Secret,
  { values, clientSecret }: { values: JsonObject; clientSecret: string | null },
): Promise<WrittenRecord> {
  const id = newId()
  const columns =
    clientSecret === null ? {} : { client_secret_encrypted: encryptClientSecret(secret, id, clientSecret) }
  return writeOne(connectionStore, transaction, { kind: 'create', id, values, columns })
}

/** Claims a domain, with the value for its TXT record. Errors: 409, 422. */
export async function createDomain(transaction: Transaction, values: JsonObject): Promise<WrittenRecord> {
  const columns = { record_value: `rapport-domain=${randomBytes(24).toString('base64url')}` }
  return writeOne(domainStore, transaction, { kind: 'create', values, columns })
}

interface FoundDomain {
  domain: string
  recordName: string
  recordValue: string
  revision: number
}

/** The claimed domain with this uuid, and its TXT record. */
export async function findDomain(transaction: Transaction, domainId: string): Promise<FoundDomain | undefined> {
  const [row] = await transaction.query<FoundDomain>(sql`
    select domain, record_name as "recordName", record_value as "recordValue", revision from domains
    where organization_id = ${transaction.organization} and id = ${domainId}::uuid`)
  return row
}

/** Error: 412 if If-Match names another revision. */
export function checkRevision(revisions: readonly number[] | undefined, revision: number): void {
  if (!revisions || revisions.includes(revision)) return
  throw new ApiError('precondition_failed', 'The record has changed since you read it; read it again.')
}

/** Permanently deletes the record (uuid). Errors: 404, 412. */
export async function deleteRecord(
  transaction: Transaction,
  resource: Resource,
  { id, revisions }: { id: string; revisions: readonly number[] | undefined },
): Promise<void> {
  const [row] = await transaction.query<{ revision: number }>(sql`
    select revision from ${identifier(resource.table)}
    where organization_id = ${transaction.organization} and id = ${id}::uuid for update`)
  if (!row) throw notFound(resource)
  checkRevision(revisions, row.revision)
  await transaction.query(sql`
    delete from ${identifier(resource.table)}
    where organization_id = ${transaction.organization} and id = ${id}::uuid`)
}
