import type { JsonValue } from './json.ts'

/** White space, what Unicode says may be ignored in display, and blanks of some scripts. */
const unseen = /^[\s\p{Default_Ignorable_Code_Point}\u0085\u2800\ufff9-\ufffb]$/u

/** Belongs to the character before it: a variation selector (an emoji in color), or the tags of a flag. */
// eslint-disable-next-line no-misleading-character-class -- single marks, not sequences
const attached = /[\ufe00-\ufe0f\u180b-\u180d\u180f\u{e0100}-\u{e01ef}]|(?<=\u{1f3f4})[\u{e0020}-\u{e007f}]+/uy

/** Never part of an address, a number or an id, except joiners and variation selectors. */
const invisible =
  // eslint-disable-next-line no-misleading-character-class -- single marks, not sequences
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]+/gu

const isAscii = /^[\0-~]*$/
const isPlain = /^[!-~](?:[\0-~]*[!-~])?$/

/** The canonical composition (NFC): `e` with a combining accent becomes `é`. In a list or an object, of all its texts. */
export function composed<Value extends JsonValue>(value: Value): Value
export function composed(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.normalize('NFC')
  // Most values are composed already, and a copy of a megabyte of them costs more than its text.
  if (typeof value !== 'object' || value === null || isAscii.test(JSON.stringify(value))) return value
  return composedParts(value)
}

function composedParts(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.normalize('NFC')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => composedParts(item))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.normalize('NFC'), composedParts(item)]))
}

/** Composed, without spaces and invisible characters at both ends. */
export function trimmed(text: string): string {
  if (isPlain.test(text)) return text
  let end = text.length
  for (let size = 1; end > 0 && size > 0; end -= size) size = unseenBefore(text, end)
  let start = 0
  for (let size = 1; start < end && size > 0; start += size) size = unseenAt(text, start)
  attached.lastIndex = end
  const { length } = end > 0 ? (attached.exec(text)?.[0] ?? '') : ''
  return text.slice(start, end + length).normalize('NFC')
}

/** How many code units the unseen character at a place has; 0 if one can see it. */
function unseenAt(text: string, index: number): number {
  const code = text.codePointAt(index) ?? 0
  if (code < 0x80) return isAsciiBlank(code) ? 1 : 0
  const character = String.fromCodePoint(code)
  return unseen.test(character) ? character.length : 0
}

const unseenBefore = (text: string, end: number): number =>
  (isLowSurrogate(text.charCodeAt(end - 1)) && end > 1 && unseenAt(text, end - 2) === 2 ? 2 : 0) ||
  unseenAt(text, end - 1)

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** Without the regular expression: a megabyte of blanks is looked at one by one. */
const isAsciiBlank = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d)

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
