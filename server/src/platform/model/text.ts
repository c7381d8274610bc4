import type { JsonValue } from './fields.ts'

/** White space, what Unicode says may be ignored in display, and blanks of some scripts. */
const unseen = /^[\s\p{Default_Ignorable_Code_Point}\u0085\u2800\ufff9-\ufffb]$/u

/** Belongs to the character before it: a variation selector (an emoji in color), or the tags of a flag. */
// eslint-disable-next-line no-misleading-character-class -- single marks, not sequences
const attached = /[\ufe00-\ufe0f\u180b-\u180d\u180f\u{e0100}-\u{e01ef}]|(?<=\u{1f3f4})[\u{e0020}-\u{e007f}]+/uy

/** Never part of an address, a number or an id, except joiners and variation selectors. */
const invisible =
  // eslint-disable-next-line no-misleading-character-class -- single marks, not sequences
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]+/gu

const isPlain = /^[!-~](?:[\0-~]*[!-~])?$/

/** The canonical composition (NFC): `e` with a combining accent becomes `é`. In a list or an object, of all its texts. */
export function composed<Value extends JsonValue>(value: Value): Value
export function composed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.normalize('NFC')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => composed(item))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.normalize('NFC'), composed(item)]))
}

/** Composed, without spaces and invisible characters at both ends. */
export function trimmed(text: string): string {
  if (isPlain.test(text)) return text
  let end = text.length
  while (end > 0 && unseen.test(characterBefore(text, end))) end -= characterBefore(text, end).length
  let start = 0
  while (start < end && unseen.test(characterAt(text, start))) start += characterAt(text, start).length
  attached.lastIndex = end
  const { length } = end > 0 ? (attached.exec(text)?.[0] ?? '') : ''
  return text.slice(start, end + length).normalize('NFC')
}

const characterAt = (text: string, index: number): string => String.fromCodePoint(text.codePointAt(index) ?? 0)

function characterBefore(text: string, end: number): string {
  const isPair = end > 1 && /[\udc00-\udfff]/.test(text.charAt(end - 1)) && /[\ud800-\udbff]/.test(text.charAt(end - 2))
  return text.slice(end - (isPair ? 2 : 1), end)
}

export const isBlank = (text: string): boolean => trimmed(text) === ''

/** Of an address, a number or an id: also without invisible characters in between. */
export function withoutInvisible(text: string): string {
  if (isPlain.test(text)) return text
  const plain = trimmed(text)
  return trimmed(
    plain.replace(invisible, (run, index: number) => joining(run, plain[index - 1], plain[index + run.length])),
  )
}

/** Joiners are part of words in Persian and Hindi, and of emoji, but not next to an ASCII character. */
function joining(run: string, before = '', after = ''): string {
  if (before < '\u0080') return ''
  const [selectors = ''] = /^[\ufe00-\ufe0f]*/.exec(run) ?? []
  // eslint-disable-next-line no-misleading-character-class -- single marks, not sequences
  return after < '\u0080' ? selectors : run.replace(/[^\u200c\u200d\ufe00-\ufe0f]/gu, '')
}

/** Full-width forms, as East Asian keyboards type them, become ASCII: `＠` becomes `@`. */
export const ascii = (text: string): string =>
  text.replace(/[\uff01-\uff5e]/g, (form) => String.fromCharCode(form.charCodeAt(0) - 0xfee0))
