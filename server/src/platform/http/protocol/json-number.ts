/** No number that a double stores exactly has more characters. */
const maxScannedCharacters = 1000

/** The end of the JSON number that starts at `start`, without its exponent; `start` if there is no number. */
export function mantissaEnd(text: string, start: number): number {
  let end = text.charCodeAt(start) === minus ? start + 1 : start
  const first = text.charCodeAt(end)
  if (!isDigit(first)) return start
  end = first === zero ? end + 1 : digitsEnd(text, end)
  const isFraction = text.charCodeAt(end) === point && isDigit(text.charCodeAt(end + 1))
  return isFraction ? digitsEnd(text, end + 1) : end
}

/** The end of an exponent that may start at `end`. */
export function exponentEnd(text: string, end: number): number {
  if (!isExponent(text.charCodeAt(end))) return end
  const sign = text.charCodeAt(end + 1)
  const power = sign === plus || sign === minus ? end + 2 : end + 1
  return isDigit(text.charCodeAt(power)) ? digitsEnd(text, power) : end
}

export const isDigit = (code: number): boolean => code >= zero && code <= 0x39

/** What a number's digits alone show: a double stores it exactly, cannot store it, or it has to be tried. */
export type Exactness = 'exact' | 'inexact' | 'unknown'

/** Fifteen significant digits always survive in the range of normal doubles; none needs more than seventeen. */
export function exactness(text: string, start: number, end: number): Exactness {
  if (end - start > maxScannedCharacters) return 'inexact'
  let digits = 0
  let significant = 0
  let magnitude = 0
  let position = start
  let isFraction = false
  for (; position < end; position += 1) {
    const code = text.charCodeAt(position)
    if (code === point) isFraction = true
    else if (isExponent(code)) break
    else if (isDigit(code)) {
      if (digits > 0 || code !== zero) {
        digits += 1
        if (code !== zero) significant = digits
        if (!isFraction) magnitude += 1
      } else if (isFraction) magnitude -= 1
    }
  }
  if (significant === 0) return 'exact'
  // The value is 0.d1d2… times ten to the power of `magnitude`.
  if (position < end) magnitude += exponentAt(text, position + 1, end)
  if (significant > 17 || magnitude > 309 || magnitude < -323) return 'inexact'
  return significant <= 15 && magnitude > -300 && magnitude < 300 ? 'exact' : 'unknown'
}

/** Parses the exponent by hand, because calling `Number` would cost more than the rest of the number. */
function exponentAt(text: string, start: number, end: number): number {
  const sign = text.charCodeAt(start)
  let exponent = 0
  for (let position = isDigit(sign) ? start : start + 1; position < end; position += 1) {
    exponent = exponent * 10 + text.charCodeAt(position) - zero
  }
  return sign === minus ? -exponent : exponent
}

/** Does the number that `JSON.parse` reads from this text print as the same decimal value? */
export function roundTrips(text: string): boolean {
  const value = Number(text)
  const written = String(value)
  if (written === text) return true
  if (!Number.isFinite(value)) return false
  const [digits, exponent] = decimal(text)
  const [writtenDigits, writtenExponent] = decimal(written)
  return digits === writtenDigits && exponent === writtenExponent
}

/** A number's digits without leading and trailing zeros, and its power of ten. */
function decimal(text: string): [digits: string, exponent: number] {
  const unsigned = text.startsWith('-') ? text.slice(1) : text
  const exponentAt = unsigned.search(/[eE]/)
  const mantissa = exponentAt < 0 ? unsigned : unsigned.slice(0, exponentAt)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  let start = 0
  let end = digits.length
  while (digits.charCodeAt(start) === zero) start += 1
  while (end > start && digits.charCodeAt(end - 1) === zero) end -= 1
  if (start === end) return ['', 0]
  const power = exponentAt < 0 ? 0 : Number(unsigned.slice(exponentAt + 1))
  return [digits.slice(start, end), power - fraction.length + digits.length - end]
}

function digitsEnd(text: string, start: number): number {
  let end = start + 1
  while (isDigit(text.charCodeAt(end))) {
    end += 1
    if (end - start === maxScannedCharacters) return endOfDigits(text, end)
  }
  return end
}

const digitRun = /[0-9]*/y

/** Faster than a loop for so many digits. */
function endOfDigits(text: string, start: number): number {
  digitRun.lastIndex = start
  digitRun.test(text)
  return digitRun.lastIndex
}

const zero = 0x30
const point = 0x2e
const minus = 0x2d
const plus = 0x2b
const isExponent = (code: number): boolean => code === 0x65 || code === 0x45
