import { boundedCache } from '../../platform/model/bounded-cache.ts'
import type { Database, CrossTenantConnection } from '../../platform/database/database.ts'
import { CredentialChanged } from '../../platform/database/failures.ts'
import {
  AddressNotAllowed,
  type Credential,
  type Identifier,
  type KeyCredential,
  type SessionCredential,
} from '../../platform/http/protocol/identifier.ts'
import { invalidParameters } from '../../platform/model/errors.ts'
import { hasIdForm, decodeId } from '../../platform/model/ids.ts'
import { hasRecentAuthentication } from './account-store.ts'
import { apiKeyHash, looksLikeApiKey } from './api-key.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { isWithin } from './networks.ts'
import {
  foreignOrganization,
  formerOrganization,
  noOrganization,
  organizationBeingDeleted,
  invalidToken,
  missingAuthorization,
  reauthenticationRequired,
  secondFactorRequired,
} from './auth-errors.ts'
import { type CustomRole, withReach } from './custom-role-store.ts'
import type { RoleScopes } from '../../platform/model/scopes.ts'
import {
  apiKeyLive,
  findApiKey,
  findMembership,
  findSession,
  isLive,
  recordApiKeyUse,
  recordSessionUse,
  sessionLive,
} from './store.ts'
import type { Tokens } from './tokens.ts'

const organizationHeader = 'Service-Organization-ID'
const maxCachedCredentials = 10_000
/** Milliseconds between two updates of a credential's last use. */
const lastUsedInterval = 60_000

/**
 * Turns request headers into callers. Credentials are cached in this process. Each later statement checks in the same
 * round trip that the credential is still valid (`Caller.live`), so a revocation takes effect immediately in every
 * process.
 */
export const createIdentifier = (options: IdentifierOptions): Identifier => new CachingIdentifier(options)

interface IdentifierOptions {
  database: Database
  tokens: Tokens
  roleScopes: RoleScopes
  /** Milliseconds since 1970. */
  clock?: () => number
}

class CachingIdentifier implements Identifier {
  readonly #database: Database
  readonly #tokens: Tokens
  readonly #roleScopes: RoleScopes
  readonly #clock: () => number
  readonly #credentials = boundedCache<string, Credential>(maxCachedCredentials)
  readonly #cacheKeys = new WeakMap<Caller, string>()

  constructor({ database, tokens, roleScopes, clock = Date.now }: IdentifierOptions) {
    this.#database = database
    this.#tokens = tokens
    this.#roleScopes = roleScopes
    this.#clock = clock
  }

  async authenticate(authorization: string | undefined): Promise<Credential> {
    const text = authorization?.trim()
    if (!text) throw missingAuthorization()
    const credential = /^bearer +(\S+)$/i.exec(text)?.[1]
    if (credential === undefined) throw invalidToken('Invalid Authorization header: expected "Bearer <credential>".')
    return looksLikeApiKey(credential) ? this.#authenticateKey(credential) : this.#authenticateToken(credential)
  }

  async selectOrganization(
    credential: Credential,
    organization: string | undefined,
    address?: string,
  ): Promise<Caller> {
    // A blank header is an error, unlike a missing one: it must not select a default organization.
    const header = organization?.trim()
    return credential.kind === 'key'
      ? this.#selectForKey(credential, header, address)
      : this.#selectForSession(credential, header)
  }

  recordSessionUse(credential: Credential, address: string): void {
    if (credential.kind !== 'session') return
    const now = this.#clock()
    if (now - credential.notedAt < lastUsedInterval) return
    credential.notedAt = now
    // The request does not wait for this, and its failure does not matter.
    recordSessionUse(this.#database, { id: credential.id, address }).catch(() => undefined)
  }

  forget(caller: Caller): void {
    const cacheKey = this.#cacheKeys.get(caller)
    if (cacheKey !== undefined) this.#credentials.delete(cacheKey)
  }

  async confirm(caller: Caller): Promise<void> {
    if (!(await isLive(this.#database, caller))) throw new CredentialChanged()
  }

  async assertRecentAuthentication(caller: Caller): Promise<void> {
    // A key cannot re-authenticate. For keys, the scope must be granted by name (`covers`).
    if (caller.kind === 'key') return
    const isRecent = (db: CrossTenantConnection) => hasRecentAuthentication(db, caller.credentialId)
    const tenantKey = caller.organizationId
    if (!(await this.#database.crossTenantTransaction('manage an account', isRecent, { tenantKey })))
      throw reauthenticationRequired()
  }

  async #authenticateKey(text: string): Promise<Credential> {
    const hash = apiKeyHash(text)
    if (!hash) throw invalidToken()
    const cacheKey = `key:${hash.toString('base64')}`
    const cached = this.#credentials.get(cacheKey)
    if (cached) return cached
    const apiKey = await findApiKey(this.#database, hash)
    if (!apiKey) throw invalidToken()
    const { id, version: _, customRole, deletesAt, ...rest } = apiKey
    if (deletesAt) throw organizationBeingDeleted(deletesAt)
    const caller: Caller = await this.#withReach(customRole, {
      kind: 'key',
      credentialId: id,
      ...rest,
      role: undefined,
      live: apiKeyLive(apiKey, { hash }),
    })
    this.#cacheKeys.set(caller, cacheKey)
    const credential: KeyCredential = { kind: 'key', id, hash, cacheKey, caller, notedAt: -Infinity }
    this.#credentials.set(cacheKey, credential)
    return credential
  }

  async #authenticateToken(text: string): Promise<Credential> {
    const subject = await this.#tokens.verify(text)
    if (!subject) throw invalidToken()
    const cacheKey = `session:${subject.sessionId}`
    const cached = this.#credentials.get(cacheKey)
    if (cached) return cached
    const session = await findSession(this.#database, subject.sessionId)
    if (!session) throw invalidToken()
    const credential: SessionCredential = {
      kind: 'session',
      id: subject.sessionId,
      cacheKey,
      userId: session.userId,
      callers: new Map(),
      notedAt: -Infinity,
    }
    this.#credentials.set(cacheKey, credential)
    return credential
  }

  /** The request does not wait for this, and its failure does not matter. */
  #recordUse(key: KeyCredential, address: string | undefined): void {
    const now = this.#clock()
    if (now - key.notedAt < lastUsedInterval) return
    key.notedAt = now
    const { organizationId } = key.caller
    recordApiKeyUse(this.#database, { organizationId, id: key.id, address: address ?? null }).catch(() => undefined)
  }

  async #selectForKey(key: KeyCredential, header: string | undefined, address: string | undefined): Promise<Caller> {
    const wanted = header === undefined ? undefined : decodeId('org', header)
    const isOwn = wanted === key.caller.organizationId
    if (isOwn && isWithin(key.caller.allowedAddresses, address)) {
      this.#recordUse(key, address)
      return key.caller
    }
    if (isOwn) {
      // The cached list of addresses may be outdated.
      await this.confirm(key.caller).catch((error: unknown) => {
        this.forget(key.caller)
        throw error
      })
      throw new AddressNotAllowed(key.caller, address)
    }
    // The cache may be outdated: a key that has been revoked since is a 401, whatever else is wrong.
    if (!(await findApiKey(this.#database, key.hash, key.caller.organizationId))) {
      this.#credentials.delete(key.cacheKey)
      throw invalidToken()
    }
    if (header === undefined) throw headerError('required with an API key; send the id of the key’s organization')
    throw hasIdForm('org', header) ? foreignOrganization() : headerError(headerForm)
  }

  async #selectForSession(session: SessionCredential, header: string | undefined): Promise<Caller> {
    const wanted = header === undefined ? undefined : decodeId('org', header)
    const isMalformed = header !== undefined && wanted === undefined
    const cached = isMalformed ? undefined : session.callers.get(wanted ?? '')
    if (cached) return cached
    const membership = await findMembership(this.#database, { sessionId: session.id, organizationId: wanted })
    if (!membership) {
      this.#credentials.delete(session.cacheKey)
      throw invalidToken()
    }
    if (isMalformed) throw hasIdForm('org', header) ? foreignOrganization() : headerError(headerForm)
    const { organizationId, role, customRole, lacksFactor, deletesAt } = membership
    if (organizationId === null) throw noOrganization()
    if (role === null) throw wanted === undefined ? formerOrganization() : foreignOrganization()
    if (deletesAt) throw organizationBeingDeleted(deletesAt)
    if (lacksFactor) throw secondFactorRequired()
    const caller: Caller = await this.#withReach(customRole, {
      kind: 'session',
      credentialId: session.id,
      userId: session.userId,
      organizationId,
      scopes: role === 'custom' ? (customRole?.scopes ?? []) : this.#roleScopes(role),
      role,
      allowedAddresses: [],
      expiresAt: null,
      live: sessionLive({ id: session.id, organizationId, role, customRole, isCurrent: wanted === undefined }),
    })
    this.#cacheKeys.set(caller, session.cacheKey)
    session.callers.set(wanted ?? '', caller)
    return caller
  }

  /** The caller with the restrictions of a custom role. */
  async #withReach(customRole: CustomRole | null, caller: Caller): Promise<Caller> {
    return customRole ? withReach(this.#database, caller, customRole) : caller
  }
}

const headerForm = 'expected an organization id: org_ and 32 hexadecimal digits'

const headerError = (message: string) => invalidParameters([{ field: organizationHeader, message }])
