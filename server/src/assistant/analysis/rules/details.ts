import type { NoteFacts, Span } from '../analysis.ts'

/** The addresses and numbers in a text, verbatim. */
export interface Details {
  name?: string
  email?: string
  phone?: string
}

const emailPattern =
  /(?<![\p{L}\p{N}._%+-])[\p{L}\p{N}_%+-]{1,64}(?:\.[\p{L}\p{N}_%+-]{1,64}){0,8}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu
const phonePattern = /(?<![\p{L}\d.,/@-])(?:\+|00|0)\d[\d ()/-]{5,18}\d(?![\d.,/:-]*\d)/gu
const dateLike = /\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}/

const fold = (text: string): string => text.toLowerCase()
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '').replace(/^0+/, '')

/** The first address that is not the contact's own. */
export const emailIn = (text: string, facts: Pick<NoteFacts, 'contactEmails'>): string | undefined =>
  [...text.matchAll(emailPattern)].map(([found]) => found).find((found) => !isOwnEmail(found, facts))

export const isOwnEmail = (email: string, { contactEmails }: Pick<NoteFacts, 'contactEmails'>): boolean =>
  contactEmails.some((own) => fold(own) === fold(email))

/** The first phone number that is not the contact's own, as it is written. */
export const phoneIn = (text: string, facts: Pick<NoteFacts, 'contactPhones'>): string | undefined =>
  [...text.matchAll(phonePattern)]
    .map(([found]) => found.trim())
    .find((found) => !dateLike.test(found) && digitsOf(found).length >= 6 && !isOwnPhone(found, facts))

/** Numbers differ in their prefixes: `+49 30 1234567` is also `030 1234567`. */
export const isOwnPhone = (phone: string, { contactPhones }: Pick<NoteFacts, 'contactPhones'>): boolean =>
  contactPhones.some((own) => isSamePhone(phone, own))

function isSamePhone(one: string, other: string): boolean {
  const [left, right] = [digitsOf(one), digitsOf(other)].sort((a, b) => a.length - b.length)
  return left !== undefined && right !== undefined && left.length >= 6 && right.endsWith(left)
}

const namePart = String.raw`\p{Lu}[\p{Ll}\p{M}'’-]{1,30}(?:\p{Lu}\p{Ll}{1,30})?`
const fullName = new RegExp(
  String.raw`(?:Dr\.? |Prof\.? )*${namePart}(?: (?:von |van |de |zu )?${namePart}){0,2}`,
  'gu',
)

/** Characters before a name that may be such a word. */
const leadLength = 40

/** The name after a word such as "colleague" or "Frau": in the reason for the action, or after it in the sentence. */
export function nameIn(text: string, within: Span, leads: ReadonlySet<string>): string | undefined {
  const part = text.slice(within.start, within.end)
  for (const { 0: found, index } of part.matchAll(fullName)) {
    const before = /([\p{L}-]+)[.,:]? *$/u.exec(part.slice(Math.max(0, index - leadLength), index))?.[1]?.toLowerCase()
    if (before === undefined || !leads.has(before)) continue
    const words = found.split(' ')
    // The title was matched as part of the name: "Frau Lang", "Herrn Dr. Patzer".
    while (words.length > 0 && isLead(words[0] ?? '', leads)) words.shift()
    if (words.length > 0) return words.join(' ')
  }
  return undefined
}

const isLead = (word: string, leads: ReadonlySet<string>): boolean => leads.has(word.replace('.', '').toLowerCase())
