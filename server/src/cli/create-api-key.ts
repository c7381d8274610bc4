import { sha256 } from '../platform/secret/encryption.ts'
import { generateApiKey } from '../identity/access/api-key.ts'
import { parseScope } from '../platform/model/scopes.ts'
import { recordCommand } from '../platform/audit/store.ts'
import type { Database } from '../platform/database/database.ts'
import { StartError } from '../platform/database/start-error.ts'
import { newId, encodeId } from '../platform/model/ids.ts'
import { insertApiKey } from '../identity/api-keys/store.ts'
import { findOrganization } from './find-organization.ts'

export interface CreateApiKeyOptions {
  database: Database
  /** The id, slug or name of an organization. */
  organization: string
  name: string
  /** `contact:list:read` or `urn:service:contact:list:read`; `*` is a wildcard for a segment. */
  scopes: readonly string[]
  expiresAt?: Date | undefined
}

export interface CreatedApiKey {
  id: string
  /** For the header `Service-Organization-ID`, which each request with the key needs. */
  organizationId: string
  /** Shown only once. */
  apiKey: string
  /** Full form. */
  scopes: string[]
}

/** Creates an API key on behalf of the owner of the organization. Errors: `StartError`. */
export async function createApiKey(options: CreateApiKeyOptions): Promise<CreatedApiKey> {
  const { database, expiresAt } = options
  const scopes = parseScopes(options.scopes)
  const name = options.name.trim()
  if (name.length < 1 || name.length > 100) throw new StartError('The key’s name must have 1 to 100 characters.')
  if (expiresAt && !(expiresAt.getTime() > Date.now()))
    throw new StartError('The expiry is in the past. Choose a later date.')
  const { id: organizationId, ownerId } = await findOrganization(database, options.organization)

  const id = newId()
  const apiKey = generateApiKey()
  await database.crossTenantTransaction('create an API key', async (db) => {
    const hash = sha256(apiKey)
    const key = { id, organizationId, hash, name, scopes, createdBy: ownerId, expiresAt: expiresAt ?? null }
    await insertApiKey(db, key)
    await recordCommand(db, organizationId, 'api-key.created', {
      recordType: 'api-key',
      recordId: encodeId('key', id),
    })
  })
  return { id: encodeId('key', id), organizationId: encodeId('org', organizationId), apiKey, scopes }
}

function parseScopes(texts: readonly string[]): string[] {
  if (texts.length === 0) throw new StartError('The key needs at least one scope, for example contact:list:read.')
  const scopes = texts.map((text) => {
    const scope = parseScope(text.trim())
    if (scope !== undefined) return scope
    throw new StartError(
      `"${text}" is not a scope. A scope is <resource>:<action>:<permission>, for example contact:list:read, ` +
        'contact:*:write or *:*:read; the permission is read or write.',
    )
  })
  return [...new Set(scopes)]
}
