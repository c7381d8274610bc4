import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { ascii, withoutInvisible } from './text.ts'

/** What people write between digits; letters and extensions are not part of E.164. */
const written = /^\+[\d\s().\-/]+$/
const e164 = /^\+[1-9]\d{6,14}$/

/** The zeros of the decimal digits that people type: Arabic, Persian, Devanagari, Bengali and Thai. */
const zeros = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50]

/** A number as people paste it, in ASCII: without invisible marks and `tel:`, with plain digits, hyphens and spaces. */
export const plainPhone = (text: string): string =>
  withoutInvisible(ascii(text))
    .replace(/^tel:/i, '')
    .replace(/[\u2010-\u2015\u2212\u30fc\ufe63]/g, '-')
    .replace(/[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\u09e6-\u09ef\u0e50-\u0e59]/g, (digit) =>
      String(zeros.map((zero) => digit.charCodeAt(0) - zero).find((value) => value >= 0 && value <= 9)),
    )
    .trim()

/** E.164 form: `+44 (0)20 7123 4567` becomes `+442071234567`. Undefined if no number can have these digits. */
export function phoneNumber(text: string): string | undefined {
  const plain = plainPhone(text)
  if (!written.test(plain)) return undefined
  const parsed = parsePhoneNumberFromString(plain, { extract: false })
  return parsed?.isPossible() && e164.test(parsed.number) ? parsed.number : undefined
}

/**
 * What stored numbers contain if a text looks like a number or a part of one: `0049 (0)30/12-34` becomes `+49301234`. Of a
 * national number, the zero before it is left out. Undefined for other texts.
 */
export function phoneFragment(text: string): string | undefined {
  const plain = plainPhone(text)
  if (!/^[+(]*\d[\d\s().\-/]*$/.test(plain)) return undefined
  const number = phoneNumber(plain)
  if (number !== undefined) return number
  const digits = plain
    .replaceAll('(0)', '')
    .replace(/[^+\d]/g, '')
    .replace(/^00(?=[1-9])/, '+')
  const fragment = digits.startsWith('+') ? digits : digits.replace(/^0/, '')
  return fragment.startsWith('+') || fragment.length > 3 ? fragment : undefined
}
