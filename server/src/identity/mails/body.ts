import { seal, unseal } from '../../platform/secret/encryption.ts'
import { deriveKey, type Secret } from '../../platform/secret/secret.ts'
import type { OneTimePurpose } from '../access/one-time-token-store.ts'
import type { MailBody } from './message.ts'

/** A body with the token of its link, so that the token can be revoked when the mail is composed again. */
export interface StoredBody extends Omit<MailBody, 'language'> {
  /** Undefined in a body that release 0.1.0 has composed. */
  language?: MailBody['language']
  token: { purpose: OneTimePurpose; text: string } | undefined
}

/** Encrypts the body of the mail (uuid) for the database. */
export const sealBody = (secret: Secret, mailId: string, body: StoredBody): Buffer =>
  seal(deriveKey(secret, 'mail', mailId), Buffer.from(JSON.stringify(body)))

/** Decrypts the result of `sealBody`. */
export const openBody = (secret: Secret, mailId: string, sealed: Uint8Array): StoredBody =>
  JSON.parse(unseal(deriveKey(secret, 'mail', mailId), sealed).toString()) as StoredBody
