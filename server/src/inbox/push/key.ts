import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { newId } from '../../platform/model/ids.ts'
import { seal, unseal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import { addKey, findKey, type StoredKey } from './key-store.ts'

/** The key pair by which push services recognize this installation (RFC 8292). */
export interface PushKey {
  /** In base64url, as browsers want it. */
  publicKey: string
  privateKey: KeyObject
}

/** Seconds for which a signature is valid; at most a day is allowed. */
const signatureSeconds = 12 * 60 * 60

/** The public key, made now if this installation has none. */
export async function readPublicKey(db: CrossTenantConnection, secret: Secret): Promise<string> {
  const { publicKey } = (await findKey(db)) ?? (await addKey(db, newKey(secret)))
  return publicKey
}

/** Undefined if nobody has subscribed yet, or if the secret that encrypts it was lost. */
export async function readKey(db: CrossTenantConnection, secret: Secret): Promise<PushKey | undefined> {
  const stored = await findKey(db)
  if (!stored) return undefined
  const { id, publicKey, privateKeySealed } = stored
  const d = unseal(deriveKey(secret, 'push key', id), privateKeySealed).toString('base64url')
  const point = Buffer.from(publicKey, 'base64url')
  const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)]
  const jwk = { kty: 'EC', crv: 'P-256', d, x, y }
  return { publicKey, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) }
}

/**
 * The header that names the sender to the push service at this address. `contact`: where its operators reach the operator of
 * this service; some refuse requests without it.
 */
export async function authorization(
  { publicKey, privateKey }: PushKey,
  { endpoint, contact, now }: { endpoint: string; contact: string | undefined; now: number },
): Promise<string> {
  const token = new SignJWT({ ...(contact !== undefined && { sub: contact }) })
    .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
    .setAudience(new URL(endpoint).origin)
    .setExpirationTime(Math.floor(now / 1000) + signatureSeconds)
  return `vapid t=${await token.sign(privateKey)}, k=${publicKey}`
}

function newKey(secret: Secret): StoredKey {
  const id = newId()
  const pair = createECDH('prime256v1')
  const publicKey = pair.generateKeys().toString('base64url')
  // Without leading zeros it would be shorter.
  const bytes = Buffer.alloc(32)
  const privateKey = pair.getPrivateKey()
  privateKey.copy(bytes, bytes.length - privateKey.length)
  return { id, publicKey, privateKeySealed: seal(deriveKey(secret, 'push key', id), bytes) }
}
