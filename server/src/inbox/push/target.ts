import { seal, unseal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import type { BrowserKeys } from './encryption.ts'

/** Where a browser is reached: the address at its push service, which allows sending, and its keys. */
export interface Target extends BrowserKeys {
  endpoint: string
}

/** Encrypts the target of the subscription (uuid) for the database. */
export const sealTarget = (secret: Secret, id: string, target: Target): Buffer =>
  seal(deriveKey(secret, 'push subscription', id), Buffer.from(JSON.stringify(target)))

/** Decrypts the result of `sealTarget`. */
export const openTarget = (secret: Secret, id: string, sealed: Uint8Array): Target =>
  JSON.parse(unseal(deriveKey(secret, 'push subscription', id), sealed).toString()) as Target
