import { randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base = BigInt(alphabet.length)

/** 62^43 is the first power that holds every 256-bit number. */
const length = 43

/** The secret part of a trigger URL: 32 random bytes as a number in base62, always of 43 characters. */
export function generateTriggerSecret(): string {
  let rest = BigInt(`0x${randomBytes(32).toString('hex')}`)
  let text = ''
  for (let digit = 0; digit < length; digit++) {
    text = alphabet.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}

/** The URL that other systems push at; `importId` in the form of the answers, `baseUrl` such as `https://crm.example/v5`. */
export const triggerUrl = (baseUrl: string, importId: string, secret: string): string =>
  `${baseUrl}/imports/${importId}/trigger/${secret}`
