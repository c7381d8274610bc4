import { sha256 } from '../platform/secret/encryption.ts'
import { generateApiKey } from '../identity/access/api-key.ts'
import { hashPassword, verifyPassword, passwordError } from '../identity/access/passwords.ts'
import { firstKeyScopes } from '../platform/model/scopes.ts'
import type { Secret } from '../platform/secret/secret.ts'
import { startSession } from '../identity/access/sessions.ts'
import type { Tokens } from '../identity/access/tokens.ts'
import { recordCommand } from '../platform/audit/store.ts'
import type { Database, CrossTenantConnection } from '../platform/database/database.ts'
import { violatesConstraint } from '../platform/database/failures.ts'
import { StartError } from '../platform/database/start-error.ts'
import { newId, encodeId } from '../platform/model/ids.ts'
import { normalizers } from '../platform/model/normalizers.ts'
import { slugOf } from '../platform/model/slug.ts'
import { insertApiKey } from '../identity/api-keys/store.ts'
import { insertFirstImport } from '../intake/imports/store.ts'
import { generateTriggerSecret, triggerUrl } from '../intake/imports/trigger.ts'
import { hasSlug, insertOrganization } from '../identity/organizations/store.ts'
import { insertFirstPipeline } from '../crm/pipelines/store.ts'
import { findUserByEmail, insertUser } from '../identity/users/store.ts'

export interface BootstrapOptions {
  database: Database
  secret: Secret
  tokens: Tokens
  addresses: { baseUrl: string; authUrl: string; teamBaseUrl: string }
  email: string
  password: string
  /** Name of the new organization. */
  organization: string
  /** IANA name of its time zone. Default: UTC. */
  timeZone?: string | undefined
}

export interface BootstrapResult {
  baseUrl: string
  authUrl: string
  teamBaseUrl: string
  userId: string
  organizationId: string
  teamId: string
  sessionId: string
  accessToken: string
  refreshToken: string
  apiKey: string
  importId: string
  /** Where leads are pushed to the import. Shown only once, like the other secrets. */
  triggerUrl: string
}

/**
 * Creates an organization with its default team, owner, session, first API key and import, all or nothing. If the
 * address belongs to an existing user, their password is required. Errors: `StartError`.
 */
export async function bootstrap(options: BootstrapOptions): Promise<BootstrapResult> {
  const { insert } = await planBootstrap(options)
  return options.database.crossTenantTransaction('create an organization', insert)
}

/** An organization that is ready to be created. */
export interface PlannedBootstrap {
  /** Uuids. */
  organizationId: string
  teamId: string
  ownerId: string
  importId: string
  /** Creates everything. May be called again in another transaction if the first one failed. Errors: `StartError`. */
  insert: (db: CrossTenantConnection) => Promise<BootstrapResult>
}

/** Prepares what `bootstrap` creates, for callers that do more in the same transaction. Errors: `StartError`. */
export async function planBootstrap(options: BootstrapOptions): Promise<PlannedBootstrap> {
  const { database } = options
  const name = parseName(options.organization)
  const email = parseEmail(options.email)
  const timeZone = options.timeZone === undefined ? undefined : parseTimeZone(options.timeZone)
  const slug = slugFromName(name)
  if (await hasSlug(database, slug)) throw nameTakenError(name, slug)
  const owner = await readOwner(database, { email, password: options.password, organization: name })
  return planOrganization(options, { name, slug, timeZone, owner, email })
}

export interface NewOrganization {
  name: string
  slug: string
  timeZone?: string | undefined
  owner: Owner
  email: string
}

/** Prepares an organization whose name is free, for an owner whose password is accepted or was verified. */
export async function planOrganization(
  { secret, tokens, addresses }: Pick<BootstrapOptions, 'secret' | 'tokens' | 'addresses'>,
  { name, slug, timeZone, owner, email }: NewOrganization,
): Promise<PlannedBootstrap> {
  const organizationId = newId()
  const sessionId = newId()
  const teamId = newId()
  const importId = newId()
  const triggerSecret = generateTriggerSecret()
  // Signed before the transaction: after it, nothing can fail that would leave an organization without credentials.
  const accessToken = await tokens.issue({ userId: owner.id, sessionId, organizationId, role: 'owner' })
  const key = generateApiKey()
  const keyId = newId()
  const insert = async (db: CrossTenantConnection): Promise<string> => {
    if (owner.isNew) await insertUser(db, { ...owner, email })
    const organization = { id: organizationId, name, slug, timeZone, teamId, ownerId: owner.id }
    await insertOrganization(db, organization, insertFirstPipeline)
    await insertApiKey(db, {
      id: keyId,
      organizationId,
      hash: sha256(key),
      name: 'Bootstrap',
      scopes: firstKeyScopes,
      createdBy: owner.id,
      expiresAt: null,
    })
    await insertFirstImport(db, { organizationId, id: importId, teamId, name: 'Bootstrap', secret: triggerSecret })
    for (const [action, recordType, recordId] of [
      ['organization.created', 'organization', result.organizationId],
      ['api-key.created', 'api-key', encodeId('key', keyId)],
      ['import.created', 'import', result.importId],
    ] as const)
      await recordCommand(db, organizationId, action, { recordType, recordId })
    return (await startSession(db, { secret, userId: owner.id, organizationId, sessionId })).refreshToken
  }
  const result = {
    ...addresses,
    userId: encodeId('usr', owner.id),
    organizationId: encodeId('org', organizationId),
    teamId: encodeId('tea', teamId),
    sessionId: encodeId('session', sessionId),
    accessToken,
    refreshToken: '',
    apiKey: key,
    importId: encodeId('imp', importId),
    triggerUrl: triggerUrl(addresses.baseUrl, encodeId('imp', importId), triggerSecret),
  }
  return {
    organizationId,
    teamId,
    ownerId: owner.id,
    importId,
    insert: async (db) => {
      const refreshToken = await insert(db).catch((error: unknown) => {
        if (violatesConstraint(error, 'users_email_unique')) {
          throw new StartError(
            `The user ${email} has just been created by someone else. Run the command again with their password.`,
          )
        }
        throw violatesConstraint(error, 'organizations_slug_unique') ? nameTakenError(name, slug) : error
      })
      return { ...result, refreshToken }
    },
  }
}

export type Owner = { id: string; isNew: false } | { id: string; isNew: true; name: string; passwordHash: string }

async function readOwner(
  database: Database,
  { email, password, organization }: { email: string; password: string; organization: string },
): Promise<Owner> {
  const user = await findUserByEmail(database, email)
  if (user) {
    if (await verifyPassword(password, user.passwordHash, { callerKind: 'known', clientKey: 'command' }))
      return { id: user.id, isNew: false }
    throw new StartError(`The user ${email} already exists, and this is not their password.`)
  }
  const error = await passwordError(password, { email, names: [organization] })
  if (error) throw new StartError(`The password is not acceptable: ${error}.`)
  return {
    id: newId(),
    isNew: true,
    name: email.slice(0, email.lastIndexOf('@')),
    passwordHash: await hashPassword(password, 'command'),
  }
}

function parseName(text: string): string {
  const name = text.trim()
  if (name.length >= 1 && name.length <= 100) return name
  throw new StartError('The organization’s name must have 1 to 100 characters.')
}

function parseEmail(text: string): string {
  const email = text.trim()
  if (/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(email)) return email
  throw new StartError(`"${text}" is not an email address.`)
}

function parseTimeZone(text: string): string {
  const read = normalizers.timeZone(text)
  if ('error' in read) throw new StartError(`--time-zone: ${read.error}.`)
  return String(read.value)
}

/** Slug of an organization. Errors: `StartError` if the name has neither a letter nor a digit. */
export function slugFromName(name: string): string {
  const slug = slugOf(name)
  if (slug !== undefined) return slug
  throw new StartError('The organization’s name must contain a letter or a digit.')
}

const nameTakenError = (name: string, slug: string) =>
  new StartError(
    `An organization called "${name}" (${slug}) already exists. Choose another name, or create a key for it with \`rapport api-key create\`.`,
  )
