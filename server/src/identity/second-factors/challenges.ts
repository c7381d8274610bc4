import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'

/** Seconds that an authenticator has to respond. */
export const challengeSeconds = 300

/** The purpose of a challenge and its session or login; a response is valid only for the same use. */
export type ChallengeUse =
  | { for: 'registration' | 'proof'; sessionId: string }
  | { for: 'second step'; pendingId: string }
  | { for: 'login' }

const randomLength = 16
const timeLength = 6
const macLength = 32

/**
 * A WebAuthn challenge: random bytes, the expiry, and a MAC with a key derived from SECRET. Nothing is stored until it
 * is used, so requesting many challenges does not fill the database.
 */
export function createChallenge(secret: Secret, use: ChallengeUse, now = Date.now()): Uint8Array<ArrayBuffer> {
  const time = Buffer.alloc(timeLength)
  time.writeUIntBE(now + challengeSeconds * 1000, 0, timeLength)
  const head = Buffer.concat([randomBytes(randomLength), time])
  return Uint8Array.from(Buffer.concat([head, sign(secret, use, head)]))
}

/**
 * The hash and expiry of a valid challenge, to record its use; undefined if it is not ours, for another use, or
 * expired.
 */
export function verifyChallenge(
  secret: Secret,
  use: ChallengeUse,
  text: string,
  now = Date.now(),
): { hash: Buffer; expiresAt: Date } | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length !== randomLength + timeLength + macLength || bytes.toString('base64url') !== text) return undefined
  const head = bytes.subarray(0, randomLength + timeLength)
  if (!timingSafeEqual(sign(secret, use, head), bytes.subarray(head.length))) return undefined
  const expiresAt = head.readUIntBE(randomLength, timeLength)
  if (expiresAt <= now) return undefined
  return { hash: createHash('sha256').update(head).digest(), expiresAt: new Date(expiresAt) }
}

const sign = (secret: Secret, use: ChallengeUse, head: Buffer): Buffer =>
  createHmac('sha256', deriveKey(secret, 'passkey challenge', JSON.stringify(use)))
    .update(head)
    .digest()
