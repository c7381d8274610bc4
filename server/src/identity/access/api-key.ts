import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { sha256 } from '../../platform/secret/encryption.ts'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const prefix = 'svc_'
const randomLength = 34
const checksumLength = 6
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`)

/** A new API key: `svc_`, 34 random characters (202 bits) and a checksum of 6, all base62. */
export function generateApiKey(): string {
  const body = Array.from({ length: randomLength }, () => alphabet[randomInt(alphabet.length)]).join('')
  return prefix + body + checksum(body)
}

/** Whether the credential has the prefix of an API key. No other credential has it. */
export const looksLikeApiKey = (text: string): boolean => text.startsWith(prefix)

/** The hash of a key that a caller sent, or undefined if the format or checksum is wrong: a typo costs no query. */
export function apiKeyHash(text: string): Buffer | undefined {
  if (!pattern.test(text)) return undefined
  const end = prefix.length + randomLength
  if (checksum(text.slice(prefix.length, end)) !== text.slice(end)) return undefined
  return sha256(text)
}

/** The CRC-32 of the random part in base62; six digits hold any 32-bit number. */
function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let digit = 0; digit < checksumLength; digit++) {
    text = alphabet[rest % alphabet.length] + text
    rest = Math.floor(rest / alphabet.length)
  }
  return text
}
