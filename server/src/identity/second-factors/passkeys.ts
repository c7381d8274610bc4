import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { pageOrigin } from '../../platform/http/protocol/cookies.ts'
import { ApiError } from '../../platform/model/errors.ts'
import type { Client, Services } from '../../platform/http/route.ts'
import { challengeSeconds, type ChallengeUse, createChallenge, verifyChallenge } from './challenges.ts'
import {
  findCredential,
  findPasskeys,
  insertPasskey,
  recordPasskeyUse,
  type Passkey,
  consumeChallenge,
} from './store.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

interface ClientContext {
  services: Services
  client: Client
}

interface RelyingParty {
  id: string
  origin: string
}

/**
 * The relying party of the passkeys: the service's public address or, without one, only localhost, because the Host
 * header is chosen by the caller. Error: 403.
 */
function relyingParty({ services, client }: ClientContext): RelyingParty {
  const origin = pageOrigin(services, client)
  const { hostname, protocol } = new URL(origin)
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  const isPublic =
    services.pageOrigin !== undefined && protocol === 'https:' && isIP(hostname.replace(/[[\]]/g, '')) === 0
  if (isLocal || isPublic) return { id: hostname, origin }
  throw new ApiError(
    'insufficient_permissions',
    'Passkeys are bound to a host name: set PUBLIC_URL to an https address with a host name, or use http://localhost.',
  )
}

const timeout = challengeSeconds * 1000

const descriptorOf = ({ credentialId, transports }: Passkey) => ({ id: credentialId.toString('base64url'), transports })

/** The options to create a passkey (`navigator.credentials.create`). */
export async function registrationOptions(
  context: ClientContext,
  db: CrossTenantConnection,
  { sessionId, user }: { sessionId: string; user: { id: string; email: string; name: string } },
): Promise<object> {
  const party = relyingParty(context)
  const { generateRegistrationOptions } = await import('@simplewebauthn/server')
  return generateRegistrationOptions({
    rpName: 'Rapport',
    rpID: party.id,
    userID: handleOf(user.id),
    userName: user.email,
    userDisplayName: user.name,
    challenge: createChallenge(context.services.secret, { for: 'registration', sessionId }),
    timeout,
    attestationType: 'none',
    excludeCredentials: (await findPasskeys(db, user.id)).map(descriptorOf),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** The options to sign with a passkey (`navigator.credentials.get`): one of `passkeys`, or any if there are none. */
export async function authenticationOptions(
  context: ClientContext,
  use: ChallengeUse,
  passkeys: readonly Passkey[] = [],
): Promise<object> {
  const party = relyingParty(context)
  const { generateAuthenticationOptions } = await import('@simplewebauthn/server')
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: createChallenge(context.services.secret, use),
    timeout,
    userVerification: 'required',
    ...(passkeys.length > 0 && { allowCredentials: passkeys.map(descriptorOf) }),
  })
}

export type RegistrationResult = { id: string } | { error: string }

/** Registers a new passkey. */
export async function register(
  context: ClientContext,
  db: CrossTenantConnection,
  input: { sessionId: string; userId: string; name: string; credential: JsonObject },
): Promise<RegistrationResult> {
  const { userId, sessionId, name } = input
  const party = relyingParty(context)
  const response = input.credential as unknown as RegistrationResponseJSON
  const expected = challengeChecker(context, { for: 'registration', sessionId })
  const registration = await verifyRegistration(response, party, expected.check)
  const challenge = expected.found()
  if (!registration || !challenge || !(await consumeChallenge(db, challenge)))
    return { error: 'is not a passkey that was created for this request' }
  const id = await insertPasskey(db, {
    userId,
    credentialId: Buffer.from(registration.credential.id, 'base64url'),
    publicKey: Buffer.from(registration.credential.publicKey),
    counter: registration.credential.counter,
    transports: registration.credential.transports ?? [],
    name,
    isSynced: registration.credentialBackedUp,
  })
  return id === undefined ? { error: 'is already registered' } : { id }
}

async function verifyRegistration(
  response: RegistrationResponseJSON,
  party: RelyingParty,
  expectedChallenge: (challenge: string) => boolean,
) {
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server')
  try {
    await assertNotFramed(response.response.clientDataJSON)
    await assertNoCertificates(response.response.attestationObject)
    const { registrationInfo } = await verifyRegistrationResponse({
      response,
      expectedChallenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
    })
    return registrationInfo
  } catch {
    // The library throws for every invalid response, also in its decoders. No I/O happens here that could fail
    // otherwise.
    return undefined
  }
}

/** Our pages are never framed by another site: a response from a frame means that the person was tricked. */
async function assertNotFramed(clientDataJSON: string): Promise<void> {
  const { decodeClientDataJSON } = await import('@simplewebauthn/server/helpers')
  if (decodeClientDataJSON(clientDataJSON).crossOrigin) throw new Error('A response from within a frame is rejected.')
}

/**
 * The model of an authenticator is not requested. Certificates that are sent anyway are rejected, because checking them
 * would fetch the revocation lists whose URLs they contain.
 */
async function assertNoCertificates(attestationObject: string): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const decoded = decodeAttestationObject(Uint8Array.from(Buffer.from(attestationObject, 'base64url')))
  const format: string = decoded.get('fmt')
  if (format !== 'none' && (format !== 'packed' || decoded.get('attStmt').get('x5c') !== undefined)) {
    throw new Error('An attestation with certificates is rejected.')
  }
}

/**
 * The owner (uuid) of the passkey, and whether it has signed an unused challenge for this use; undefined if the passkey
 * is unknown or not `expectedUser`'s. The authenticator has verified the person, so a passkey counts as two factors.
 */
export async function authenticate(
  context: ClientContext,
  db: CrossTenantConnection,
  use: ChallengeUse,
  credential: JsonObject,
  expectedUser?: string,
): Promise<{ userId: string; isRight: boolean } | undefined> {
  const party = relyingParty(context)
  const response = credential as unknown as AuthenticationResponseJSON
  const passkey = await findCredential(db, Buffer.from(textOf(credential.id), 'base64url'))
  if (!passkey || passkey.userId !== (expectedUser ?? passkey.userId)) return undefined
  const { userId } = passkey
  const expected = challengeChecker(context, use)
  const signed = await verifyAuthentication(response, passkey, party, expected.check)
  const challenge = expected.found()
  const isRight =
    signed !== undefined &&
    challenge !== undefined &&
    // In a login without an address, the user handle must match the owner.
    (response.response.userHandle ?? handleText(userId)) === handleText(userId) &&
    (await consumeChallenge(db, challenge)) &&
    (await recordPasskeyUse(db, passkey.id, signed))
  return { userId, isRight }
}

async function verifyAuthentication(
  response: AuthenticationResponseJSON,
  passkey: Passkey,
  party: RelyingParty,
  expectedChallenge: (challenge: string) => boolean,
): Promise<{ counter: number; isSynced: boolean } | undefined> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server')
  try {
    await assertNotFramed(response.response.clientDataJSON)
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response,
      expectedChallenge,
      expectedOrigin: party.origin,
      expectedRPID: party.id,
      requireUserVerification: true,
      credential: {
        id: passkey.credentialId.toString('base64url'),
        publicKey: Uint8Array.from(passkey.publicKey),
        counter: passkey.counter,
      },
    })
    const { newCounter, credentialBackedUp } = authenticationInfo
    return verified ? { counter: newCounter, isSynced: credentialBackedUp } : undefined
  } catch {
    return undefined
  }
}

/** Checks the challenge that the library finds in a response, and keeps it. */
function challengeChecker({ services }: ClientContext, use: ChallengeUse) {
  let found: ReturnType<typeof verifyChallenge>
  return {
    check: (challenge: string): boolean => (found = verifyChallenge(services.secret, use, challenge)) !== undefined,
    found: () => found,
  }
}

/** The WebAuthn user handle: the bytes of the uuid, which contain no personal data. */
const handleOf = (userId: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.from(userId.replaceAll('-', ''), 'hex'))

const handleText = (userId: string): string => Buffer.from(handleOf(userId)).toString('base64url')

const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')
