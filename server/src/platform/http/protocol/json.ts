import { invalidBody, malformed } from '../../model/errors.ts'
import { JsonScanner, type LongNumber } from './json-scan.ts'

const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads a JSON body strictly. Throws `malformed_request` (400) for invalid JSON or UTF-8, deep nesting and repeated
 * properties, and `invalidBody` (422) for NUL, lone surrogates, `__proto__`, and numbers that a double cannot
 * represent.
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  const errors = new JsonScanner(text).run()
  const value = parse(text)
  if (errors.length > 0) throw invalidBody(errors)
  return value
}

/** Reads a body like `parseJsonBytes`, except that a number that a double cannot represent becomes a string with its digits. */
export function parseJsonWithLongNumbers(bytes: Uint8Array): { value: unknown; text: string } {
  const sent = decode(bytes)
  const numbers: LongNumber[] = []
  const errors = new JsonScanner(sent, numbers).run()
  const pieces = numbers.map(({ start, end }, index) => {
    const before = sent.slice(numbers[index - 1]?.end ?? 0, start)
    return `${before}"${sent.slice(start, end)}"`
  })
  const text = pieces.join('') + sent.slice(numbers.at(-1)?.end ?? 0)
  const value = parse(text)
  if (errors.length > 0) throw invalidBody(errors)
  return { value, text }
}

function decode(bytes: Uint8Array): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw malformed(`The body is not valid UTF-8 at byte ${firstBadByte(bytes)}.`)
  }
  if (text === '') throw malformed('The body is empty; a JSON body is required.')
  return text
}

/** The offset of the first invalid UTF-8 byte; the length if the last sequence is incomplete. */
function firstBadByte(bytes: Uint8Array): number {
  let good = 0
  let bad = bytes.length + 1
  while (bad - good > 1) {
    const middle = (good + bad) >>> 1
    // The valid part is not decoded again, except for a character that may have been split.
    let start = good
    while (start > 0 && start > good - 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(start, middle), {
        stream: middle <= bytes.length,
      })
      good = middle
    } catch {
      bad = middle
    }
  }
  return good
}

/** The scan has already accepted the text. If the two ever disagree, `JSON.parse` decides. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw malformed('The body is not valid JSON.')
  }
}
