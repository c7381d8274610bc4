import { ApiError, type Fault, invalidBody } from './errors.ts'

/** Levels of arrays and objects that a body may nest. */
const maximumDepth = 32
const maximumFaults = 100
/** Characters of one name shown in a path, so that a fault's text cannot grow with the body. */
const maximumShown = 64

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The value of a JSON body, read strictly. `malformed_request` (400) for what is not JSON in valid UTF-8, nests too
 * deeply or names a member twice; `invalidBody` (422) for values that could not be kept as they were sent: NUL or lone
 * surrogates, `__proto__` as a name, numbers that a double cannot hold.
 */
export function readJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) throw malformed('A JSON body is needed; this one is empty.')
  const text = decode(bytes)
  const faults = new Scan(text).run()
  const value = parse(text)
  if (faults.length > 0) throw invalidBody(faults)
  return value
}

const malformed = (description: string, details?: readonly Fault[]): ApiError =>
  new ApiError('malformed_request', description, details ? { details } : {})

function decode(bytes: Uint8Array): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw malformed(`The body is not valid UTF-8 at byte ${firstBadByte(bytes)}.`)
  }
  if (text.charCodeAt(0) === 0xfeff) throw malformed('The body begins with a byte order mark; send it without one.')
  return text
}

/** The offset of the byte that no UTF-8 sequence can have there; the length when the last sequence is cut off. */
function firstBadByte(bytes: Uint8Array): number {
  let good = 0
  let bad = bytes.length + 1
  while (bad - good > 1) {
    const middle = (good + bad) >>> 1
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, middle), { stream: middle <= bytes.length })
      good = middle
    } catch {
      bad = middle
    }
  }
  return good
}

/** The scan went before and found the text good; should the two ever disagree, `JSON.parse` has the last word. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw malformed('The body is not valid JSON.')
  }
}

/**
 * One pass over the text, without recursion and without looking back, so that its time is linear in the length whatever
 * the shape. It exists because `JSON.parse` tells nothing of duplicate names, of numbers it rounded or of places.
 */
class Scan {
  readonly #text: string
  readonly #faults: Fault[] = []
  /** For each open array or object: the index or the name of the value that is being read. */
  readonly #path: (string | number)[] = []
  /** For each open object the names seen in it; undefined for an array. */
  readonly #names: (Set<string> | undefined)[] = []
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  /** Throws `malformed_request` at the first fault of form; returns the faults of values. */
  run(): Fault[] {
    for (;;) {
      const opened = this.#value()
      if (opened && !this.#firstMember()) continue
      if (this.#afterValue()) return this.#faults
    }
  }

  /** Reads a scalar whole, or the opening of an array or object (true). */
  #value(): boolean {
    const code = this.#skipSpace()
    if (code === openBrace || code === openBracket) {
      if (this.#path.length === maximumDepth) this.#refuse(`more than ${maximumDepth} levels of nesting`)
      this.#position += 1
      this.#path.push(0)
      this.#names.push(code === openBrace ? new Set() : undefined)
      return true
    }
    if (code === quote) this.#textValue()
    else if (code === minus || isDigit(code)) this.#number()
    else this.#word()
    return false
  }

  /** After an opening bracket: true when it closes at once, false when a value stands next. */
  #firstMember(): boolean {
    const names = this.#names.at(-1)
    if (this.#skipSpace() === (names ? closeBrace : closeBracket)) return true
    if (names) this.#name(names, 'a name in double quotes or "}" is expected')
    return false
  }

  /** After a value: closes what ends and steps over the comma; true at the end of the text. */
  #afterValue(): boolean {
    for (;;) {
      const code = this.#skipSpace()
      if (this.#path.length === 0) {
        if (this.#position < this.#text.length) this.#refuse('nothing may follow the value')
        return true
      }
      const names = this.#names.at(-1)
      this.#position += 1
      if (code === comma) {
        if (names) {
          this.#skipSpace()
          this.#name(names, 'a name in double quotes is expected')
        } else (this.#path[this.#path.length - 1] as number) += 1
        return false
      }
      if (code !== (names ? closeBrace : closeBracket)) {
        this.#position -= 1
        this.#refuse(`"," or "${names ? '}' : ']'}" is expected`)
      }
      this.#path.pop()
      this.#names.pop()
    }
  }

  #name(names: Set<string>, expectation: string): void {
    const start = this.#position
    if (this.#text.charCodeAt(start) !== quote) this.#refuse(expectation)
    const escaped = this.#skipString()
    const name = this.#decoded(start, escaped)
    this.#path[this.#path.length - 1] = name
    if (names.has(name)) {
      const field = this.#shownPath()
      const message = `given twice in one object, the second time at ${this.#where(start)}`
      throw malformed(`${field}: ${message}`, [{ field, message }])
    }
    names.add(name)
    if (name === '__proto__') this.#fault('this name cannot be used')
    else if (escaped && forbidden.test(name)) this.#fault('the name holds NUL or a lone surrogate')
    if (this.#skipSpace() !== colon) this.#refuse('":" is expected')
    this.#position += 1
  }

  #textValue(): void {
    const start = this.#position
    // NUL and lone surrogates need an escape: bare, the one is no JSON and the other no UTF-8.
    const escaped = this.#skipString()
    if (escaped && forbidden.test(this.#decoded(start, escaped))) this.#fault('holds NUL or a lone surrogate')
  }

  /** Steps over a string; true when it holds an escape. */
  #skipString(): boolean {
    const text = this.#text
    let escaped = false
    for (let position = this.#position + 1; ; position += 1) {
      const code = text.charCodeAt(position)
      if (code === quote) {
        this.#position = position + 1
        return escaped
      }
      if (code === backslash) {
        escaped = true
        position += 1
        escape.lastIndex = position
        if (!escape.test(text)) this.#refuse('this escape does not exist in JSON', position - 1)
        if (text.charCodeAt(position) === letterU) position += 4
      } else if (!(code >= 0x20)) {
        // NaN, past the end of the text, comes here too.
        this.#refuse(position < text.length ? 'a control character has to be escaped' : endsEarly, position)
      }
    }
  }

  #decoded(start: number, escaped: boolean): string {
    if (!escaped) return this.#text.slice(start + 1, this.#position - 1)
    return JSON.parse(this.#text.slice(start, this.#position)) as string
  }

  #number(): void {
    const start = this.#position
    number.lastIndex = start
    if (!number.test(this.#text)) this.#refuse('this is not a number of JSON')
    this.#position = number.lastIndex
    if (!survives(this.#text.slice(start, this.#position)))
      this.#fault('this number has more digits or a larger exponent than can be kept exactly; send it as a string')
  }

  #word(): void {
    for (const word of ['true', 'false', 'null']) {
      if (this.#text.startsWith(word, this.#position)) {
        this.#position += word.length
        return
      }
    }
    this.#refuse('a JSON value is expected')
  }

  /** Steps over white space; the code of what stands there, NaN at the end. */
  #skipSpace(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#position)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
      this.#position += 1
    }
  }

  #fault(message: string): void {
    if (this.#faults.length === maximumFaults) return
    const field = this.#shownPath()
    // A bad name with a bad value is one place.
    if (this.#faults.at(-1)?.field !== field) this.#faults.push({ field, message })
  }

  #shownPath(): string {
    if (this.#path.length === 0) return 'body'
    return this.#path.map((step) => (typeof step === 'number' ? String(step) : shown(step))).join('.')
  }

  #refuse(expectation: string, position = this.#position): never {
    const reason = position >= this.#text.length ? endsEarly : expectation
    throw malformed(`The body cannot be read as JSON at ${this.#where(position)}: ${reason}.`)
  }

  #where(position: number): string {
    let line = 1
    let lineStart = 0
    for (let next = this.#text.indexOf('\n'); next >= 0 && next < position; next = this.#text.indexOf('\n', next + 1)) {
      line += 1
      lineStart = next + 1
    }
    return `line ${line}, column ${position - lineStart + 1}`
  }
}

const [quote, comma, minus, colon, backslash, letterU] = [0x22, 0x2c, 0x2d, 0x3a, 0x5c, 0x75]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]
const endsEarly = 'the body ends too early'
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
/** With the u flag a surrogate that is half of a pair does not match. */
const forbidden = /[\0\p{Surrogate}]/u
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const escape = /["\\/bfnrt]|u[0-9a-fA-F]{4}/y

function shown(name: string): string {
  const cut = name.length > maximumShown ? `${name.slice(0, maximumShown)}…` : name
  return cut.replace(/[\0\p{Surrogate}]/gu, '\ufffd')
}

/** Is the number that `JSON.parse` makes of this text, written out again, the same decimal value? */
function survives(text: string): boolean {
  // Fifteen significant digits always survive, and without an exponent so few characters are never out of range.
  if (text.length <= 15 && !/[eE]/.test(text)) return true
  const value = Number(text)
  if (!Number.isFinite(value)) return false
  const [digits, exponent] = decimal(text)
  const [keptDigits, keptExponent] = decimal(String(value))
  return digits === keptDigits && exponent === keptExponent
}

/** A number's text as its digits without zeros at either end, and the power of ten they are multiplied by. */
function decimal(text: string): [digits: string, exponent: number] {
  const unsigned = text.startsWith('-') ? text.slice(1) : text
  const exponentAt = unsigned.search(/[eE]/)
  const mantissa = exponentAt < 0 ? unsigned : unsigned.slice(0, exponentAt)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  let start = 0
  let end = digits.length
  while (digits.charCodeAt(start) === 0x30) start += 1
  while (end > start && digits.charCodeAt(end - 1) === 0x30) end -= 1
  if (start === end) return ['', 0]
  const power = exponentAt < 0 ? 0 : Number(unsigned.slice(exponentAt + 1))
  return [digits.slice(start, end), power - fraction.length + digits.length - end]
}
