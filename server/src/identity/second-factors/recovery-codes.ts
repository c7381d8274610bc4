import { randomBytes } from 'node:crypto'
import { sha256 } from '../../platform/secret/encryption.ts'

/** Crockford's base 32: no letters that are easily confused. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const count = 10
const groups = 7
const groupLength = 4

/** Ten new codes of 140 random bits each, in display form. */
export const generateRecoveryCodes = (): string[] => Array.from({ length: count }, generateCode)

const generateCode = (): string =>
  Array.from({ length: groups }, () =>
    Array.from(randomBytes(groupLength), (byte) => alphabet[byte % alphabet.length]).join(''),
  ).join('-')

/** SHA-256 of a code, ignoring case, hyphens and spaces, with O read as 0, and I or L as 1. */
export function hashRecoveryCode(text: string): Buffer {
  const code = text.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
  return sha256(code)
}
