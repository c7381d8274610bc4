import { parsePhoneNumberFromString } from 'libphonenumber-js/min'

/** What people write between digits; letters and extensions are not part of E.164. */
const written = /^\+[\d\s().\-/]+$/
const e164 = /^\+[1-9]\d{6,14}$/

/** E.164 form: `+44 (0)20 7123 4567` becomes `+442071234567`. Undefined if no number can have these digits. */
export function phoneNumber(text: string): string | undefined {
  if (!written.test(text)) return undefined
  const parsed = parsePhoneNumberFromString(text, { extract: false })
  return parsed?.isPossible() && e164.test(parsed.number) ? parsed.number : undefined
}
