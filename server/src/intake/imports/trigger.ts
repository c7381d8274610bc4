import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base = BigInt(alphabet.length)

/** 62^43 is the first power of 62 above 2^256. */
const length = 43

/** The secret in a trigger URL: 32 random bytes as a base62 number, always 43 characters. */
export function generateTriggerSecret(): string {
  let rest = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let text = ''
  for (let digit = 0; digit < length; digit++) {
    text = alphabet.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}

/**
 * The URL that other systems push to. `importId` in the form of the API, `baseUrl` such as `https://crm.example/v5`.
 */
export const triggerUrl = (baseUrl: string, importId: string, secret: string): string =>
  `${baseUrl}/imports/${importId}/trigger/${secret}`
