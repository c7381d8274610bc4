import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { beginTotp, findTotp, consumeTotpStep } from './store.ts'

// What every authenticator app supports (RFC 6238 and the key URI format).
const algorithm = 'SHA1'
const digits = 6
const period = 30
const secretLength = 20
/** Accepted clock difference in time steps, in both directions. */
const tolerance = 1

const issuer = 'Rapport'

/**
 * Starts an enrolment: returns the secret and its `otpauth://` URI; undefined if the person already has a confirmed
 * one.
 */
export async function beginEnrolment(
  db: CrossTenantConnection,
  secret: Secret,
  { userId, email }: { userId: string; email: string },
): Promise<{ secret: string; uri: string } | undefined> {
  const bytes = randomBytes(secretLength)
  if (!(await beginTotp(db, userId, seal(sealKey(secret, userId), bytes)))) return undefined
  const totp = await totpOf(bytes, email)
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/**
 * Consumes the code: true only once per code, also with concurrent requests. With `isNew`, the code confirms an
 * unconfirmed enrolment; otherwise the enrolment must be confirmed.
 */
export async function consumeCode(
  db: CrossTenantConnection,
  secret: Secret,
  { userId, code, isNew = false }: { userId: string; code: string; isNew?: boolean },
): Promise<boolean> {
  const stored = await findTotp(db, userId)
  if (!stored || isNew !== (stored.confirmedAt === null)) return false
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return false
  const totp = await totpOf(unseal(sealKey(secret, userId), stored.secretEncrypted))
  const now = Date.now()
  const delta = totp.validate({ token, window: tolerance, timestamp: now })
  if (delta === null) return false
  return consumeTotpStep(db, userId, Math.floor(now / 1000 / period) + delta)
}

const sealKey = (secret: Secret, userId: string): Buffer => deriveKey(secret, 'totp secret', userId)

async function totpOf(bytes: Uint8Array, label = '') {
  const { Secret: OtpSecret, TOTP } = await import('otpauth')
  const secret = new OtpSecret({ buffer: Uint8Array.from(bytes).buffer })
  return new TOTP({ issuer, label, secret, algorithm, digits, period })
}
