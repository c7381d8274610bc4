import { type FieldError, invalidBody, malformed, maxDetails } from '../../model/errors.ts'
import { exactness, exponentEnd, isDigit, mantissaEnd, roundTrips } from './json-number.ts'

/** Maximum nesting of arrays and objects in a body. */
const maxDepth = 32
/** Maximum property names in a body, in all objects together: each is compared with the others of its object. */
export const maxNames = 10_000
/** Maximum characters of a property name. */
export const maxNameLength = 256
/** Maximum numbers that are checked or kept as text: either takes five times as long as reading a number. */
const maxLongNumbers = 4000
/** Maximum lines to count for an error's position. */
const maxCountedLines = 10_000
/** Maximum characters of a name in a path, so that an error's text does not grow with the body. */
const maxShownCharacters = 64

export interface LongNumber {
  start: number
  end: number
}

/**
 * A single pass without recursion or backtracking, because `JSON.parse` does not report duplicate names, rounded
 * numbers or positions. At most about three times as slow as `JSON.parse`: loops keep their position in a local
 * variable.
 */
export class JsonScanner {
  readonly #text: string
  readonly #collected: LongNumber[] | undefined
  readonly #errors: FieldError[] = []
  /** The index or name of the current value in the innermost open array or object. */
  #step: string | number = 0
  /** The names in the innermost open object; null in an array. */
  #names: Set<string> | null = null
  /** The same for the enclosing arrays and objects. */
  readonly #outer: { step: string | number; names: Set<string> | null }[] = []
  #position = 0
  #nameCount = 0
  #longNumbers = 0

  /** Numbers that a double cannot represent are collected in `collected`, or else invalid. */
  constructor(text: string, collected?: LongNumber[]) {
    this.#text = text
    this.#collected = collected
  }

  /** Throws `malformed_request` at the first syntax error; returns the invalid values. */
  run(): FieldError[] {
    for (;;) {
      const opened = this.#value()
      if (opened && !this.#firstMember()) continue
      if (this.#afterValue()) return this.#errors
    }
  }

  /** Reads a whole scalar, or the opening of an array or object (returns true). */
  #value(): boolean {
    const code = this.#skipSpace()
    if (code === openBrace || code === openBracket) {
      if (this.#outer.length === maxDepth) this.#fail(`more than ${maxDepth} levels of nesting`)
      this.#position += 1
      this.#outer.push({ step: this.#step, names: this.#names })
      this.#step = 0
      this.#names = code === openBrace ? emptyNames : null
      return true
    }
    if (code === quote) this.#textValue()
    else if (code === minus || isDigit(code)) this.#number()
    else this.#literal(code)
    return false
  }

  /** After an opening bracket: true if it closes immediately, false if a value follows. */
  #firstMember(): boolean {
    const isObject = this.#names !== null
    if (this.#skipSpace() === (isObject ? closeBrace : closeBracket)) return true
    if (isObject) this.#name('expected a name in double quotes or "}"')
    return false
  }

  /** After a value: closes finished arrays and objects and skips the comma; true at the end of the text. */
  #afterValue(): boolean {
    for (;;) {
      const code = this.#skipSpace()
      if (this.#outer.length === 0) {
        if (this.#position < this.#text.length) this.#fail('unexpected text after the value')
        return true
      }
      const isObject = this.#names !== null
      if (code === comma) {
        this.#position += 1
        if (isObject) {
          this.#skipSpace()
          this.#name('expected a name in double quotes')
        } else this.#step = (this.#step as number) + 1
        return false
      }
      if (code !== (isObject ? closeBrace : closeBracket)) this.#fail(`expected "," or "${isObject ? '}' : ']'}"`)
      this.#position += 1
      const outer = this.#outer.pop()
      this.#step = outer?.step ?? 0
      this.#names = outer?.names ?? null
    }
  }

  #name(expectation: string): void {
    const start = this.#position
    if (this.#text.charCodeAt(start) !== quote) this.#fail(expectation)
    const { escaped, forbidden } = this.#skipString()
    this.#nameCount += 1
    if (this.#nameCount > maxNames) throw this.#tooMany(`a body can have at most ${maxNames} property names in total`)
    const isTooLong = this.#position - start - 2 > 6 * maxNameLength
    const name = isTooLong ? this.#text.slice(start + 1, start + 1 + maxNameLength) : this.#decoded(start, escaped)
    this.#step = name
    if (isTooLong || name.length > maxNameLength)
      this.#addError(`a property name can have at most ${maxNameLength} characters`)
    else this.#compare(name, start)
    if (name === '__proto__') this.#addError('this name is not allowed')
    else if (forbidden) this.#addError('the name contains NUL or a lone surrogate')
    if (this.#skipSpace() !== colon) this.#fail('expected ":"')
    this.#position += 1
  }

  /** Rejects a duplicate name in the same object. */
  #compare(name: string, start: number): void {
    const names = this.#names === null || this.#names === emptyNames ? new Set<string>() : this.#names
    this.#names = names
    if (names.has(name)) {
      const field = this.#shownPath()
      const message = `duplicate property; the second one is at ${this.#location(start)}`
      throw malformed(`${field}: ${message}`, [{ field, message }])
    }
    names.add(name)
  }

  #textValue(): void {
    // NUL and lone surrogates only occur as escapes: unescaped, NUL is not valid JSON and a lone surrogate not valid
    // UTF-8.
    if (this.#skipString().forbidden) this.#addError('contains NUL or a lone surrogate')
  }

  /** Skips a string. Returns whether it contains an escape, and one for NUL or a lone surrogate. */
  #skipString(): StringKind {
    const text = this.#text
    let kind = plainString
    let plainFrom = this.#position
    for (let position = plainFrom + 1; ; position += 1) {
      if (position - plainFrom === longRun) {
        position = endOfRun(plainRun, text, position)
        plainFrom = position
      }
      const code = text.charCodeAt(position)
      if (code === quote) {
        this.#position = position + 1
        return kind
      }
      if (code === backslash) {
        if (kind === plainString) kind = escapedString
        position += 1
        const escape = text.charCodeAt(position)
        if (escape === letterU) {
          const unit = hexadecimal(text, position + 1)
          if (unit < 0) this.#fail('invalid escape sequence', position - 1)
          position += 4
          if (isHigh(unit) && isLow(escapedUnit(text, position + 1))) position += 6
          else if (unit === 0 || isHigh(unit) || isLow(unit)) kind = forbiddenString
        } else if (!isShortEscape(escape)) this.#fail('invalid escape sequence', position - 1)
      } else if (!(code >= 0x20)) {
        // Also true for NaN, past the end of the text.
        this.#fail(position < text.length ? 'control characters must be escaped' : incompleteMessage, position)
      }
    }
  }

  #decoded(start: number, escaped: boolean): string {
    if (!escaped) return this.#text.slice(start + 1, this.#position - 1)
    return JSON.parse(this.#text.slice(start, this.#position)) as string
  }

  #number(): void {
    const start = this.#position
    const plainEnd = mantissaEnd(this.#text, start)
    if (plainEnd === start) this.#fail('invalid number')
    const end = exponentEnd(this.#text, plainEnd)
    this.#position = end
    // A number with so few digits always round-trips.
    if (end === plainEnd && end - start <= 15) return
    const known = exactness(this.#text, start, end)
    if (known === 'exact' || (known === 'unknown' && this.#roundTrips(start, end))) return
    if (this.#collected) {
      if (known === 'inexact') this.#countLongNumber()
      this.#collected.push({ start, end })
    } else
      this.#addError(
        'this number cannot be stored exactly because it has too many digits or too large an exponent; send it as a string',
      )
  }

  #roundTrips(start: number, end: number): boolean {
    this.#countLongNumber()
    return roundTrips(this.#text.slice(start, end))
  }

  #countLongNumber(): void {
    this.#longNumbers += 1
    if (this.#longNumbers <= maxLongNumbers) return
    const kind = 'numbers with more than 15 digits or a large exponent'
    throw this.#tooMany(`a body can have at most ${maxLongNumbers} ${kind}; send strings instead`)
  }

  #literal(code: number): void {
    const text = this.#text
    const start = this.#position
    const second = text.charCodeAt(start + 1)
    const third = text.charCodeAt(start + 2)
    const fourth = text.charCodeAt(start + 3)
    const isNull = code === 0x6e && second === 0x75 && third === 0x6c && fourth === 0x6c
    const isTrue = code === 0x74 && second === 0x72 && third === 0x75 && fourth === 0x65
    const isFalse = code === 0x66 && second === 0x61 && third === 0x6c && fourth === 0x73
    if (isNull || isTrue) this.#position = start + 4
    else if (isFalse && text.charCodeAt(start + 4) === 0x65) this.#position = start + 5
    else this.#fail('expected a JSON value')
  }

  /** Skips white space; returns the next character code, NaN at the end. */
  #skipSpace(): number {
    const text = this.#text
    let position = this.#position
    let code = text.charCodeAt(position)
    if (code > 0x20) return code
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      position += 1
      if (position - this.#position === longRun) position = endOfRun(spaceRun, text, position)
      code = text.charCodeAt(position)
    }
    this.#position = position
    return code
  }

  #addError(message: string): void {
    const field = this.#shownPath()
    // An invalid name with an invalid value counts once.
    if (this.#errors.at(-1)?.field !== field) this.#errors.push({ field, message })
    if (this.#errors.length === maxDetails) throw invalidBody(this.#errors)
  }

  #tooMany(message: string): Error {
    return invalidBody([...this.#errors, { field: 'body', message }])
  }

  #shownPath(): string {
    if (this.#outer.length === 0) return 'body'
    const path = [...this.#outer.slice(1).map(({ step }) => step), this.#step]
    return path.map((step) => (typeof step === 'number' ? String(step) : displayName(step))).join('.')
  }

  #fail(expectation: string, position = this.#position): never {
    const reason = position >= this.#text.length ? incompleteMessage : expectation
    throw malformed(`The body is not valid JSON at ${this.#location(position)}: ${reason}.`)
  }

  #location(position: number): string {
    let line = 1
    let lineStart = 0
    for (let next = this.#text.indexOf('\n'); next >= 0 && next < position; next = this.#text.indexOf('\n', next + 1)) {
      line += 1
      lineStart = next + 1
      if (line > maxCountedLines) return `character ${position + 1}`
    }
    return `line ${line}, column ${position - lineStart + 1}`
  }
}

/** The number of characters from which a regular expression is faster than a loop. */
const longRun = 64
// eslint-disable-next-line no-control-regex -- control characters end it
const plainRun = /[^"\\\u0000-\u001f]*/y
const spaceRun = /[ \t\n\r]*/y

function endOfRun(run: RegExp, text: string, position: number): number {
  run.lastIndex = position
  run.test(text)
  return run.lastIndex
}

interface StringKind {
  escaped: boolean
  forbidden: boolean
}
const plainString: StringKind = { escaped: false, forbidden: false }
const escapedString: StringKind = { escaped: true, forbidden: false }
const forbiddenString: StringKind = { escaped: true, forbidden: true }

/** Shared by all objects without names so far; many stay empty. */
const emptyNames = new Set<string>()

const [quote, comma, minus, colon, backslash, letterU] = [0x22, 0x2c, 0x2d, 0x3a, 0x5c, 0x75] as const
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d] as const
const incompleteMessage = 'the body is incomplete'
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

/** Hexadecimal digit values by character code; -1 for all other ASCII characters. */
const digitValues = Int8Array.from({ length: 128 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code | 0x20)),
)
for (let code = 0; code < 0x30; code += 1) digitValues[code] = -1

/** The four hexadecimal digits at `position` as a number; negative if there are fewer. */
function hexadecimal(text: string, position: number): number {
  let unit = 0
  for (let index = position; index < position + 4; index += 1) {
    const value = digitValues[text.charCodeAt(index)] ?? -1
    if (value < 0) return -1
    unit = unit * 16 + value
  }
  return unit
}

/** The code unit of a `\uXXXX` escape at `position`, or a negative number. */
const escapedUnit = (text: string, position: number): number =>
  text.charCodeAt(position) === backslash && text.charCodeAt(position + 1) === letterU
    ? hexadecimal(text, position + 2)
    : -1

/** `"`, `\`, `/` and the letters b, f, n, r, t. */
function isShortEscape(code: number): boolean {
  switch (code) {
    case quote:
    case backslash:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true
    default:
      return false
  }
}

function displayName(name: string): string {
  const cut = name.length > maxShownCharacters ? `${name.slice(0, maxShownCharacters)}…` : name
  return cut.replace(/[\0\p{Surrogate}]/gu, '\ufffd')
}
