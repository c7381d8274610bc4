import { type FieldError, invalidParameters, maxDetails } from '../../model/errors.ts'

/** One parameter as it was sent, decoded. */
export interface QueryParameter {
  name: string
  value: string
}

/** A list that contains an empty value. */
export class ListError extends Error {}

/** Rejects repeated and unknown parameters (400). */
export function checkParameters(
  query: readonly QueryParameter[],
  { parameters, allowsOthers }: { parameters: Readonly<Record<string, string>>; allowsOthers: boolean },
): void {
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const { name } of query) {
    if (errors.length === maxDetails) break
    const isKnown = Object.hasOwn(parameters, name)
    if (isKnown && seen.has(name)) errors.push({ field: name, message: 'is given twice; send it once' })
    if (!isKnown && !allowsOthers) errors.push({ field: name.slice(0, 200), message: 'unknown parameter' })
    seen.add(name)
  }
  if (errors.length > 0) throw invalidParameters(errors)
}

/**
 * The parameters after the first `?` in order, repeated ones too. A plus is a space, a name without `=` has the value
 * '', an empty piece is ignored. Throws `invalid_parameters` for invalid escapes, invalid UTF-8 and NUL.
 */
export function parseQuery(rawUrl: string): QueryParameter[] {
  const start = rawUrl.indexOf('?')
  if (start < 0 || start === rawUrl.length - 1) return []
  const parameters: QueryParameter[] = []
  const errors: FieldError[] = []
  for (const piece of rawUrl.slice(start + 1).split('&')) {
    if (piece === '') continue
    if (errors.length === maxDetails) break
    const equals = piece.indexOf('=')
    const name = decode(spaced(equals < 0 ? piece : piece.slice(0, equals)))
    const value = equals < 0 ? '' : decode(spaced(piece.slice(equals + 1)))
    if (name !== undefined && value !== undefined) parameters.push({ name, value })
    else if (name === undefined) errors.push({ field: 'query', message: `a parameter's name ${wrongEncoding}` })
    else errors.push({ field: name, message: `the value ${wrongEncoding}` })
  }
  if (errors.length > 0) throw invalidParameters(errors)
  return parameters
}

/** The parameters of any URL: invalid escapes, invalid UTF-8 and NUL stay as they were sent. */
export function parseAnyQuery(rawUrl: string): QueryParameter[] {
  const start = rawUrl.indexOf('?')
  const pieces = start < 0 ? [] : rawUrl.slice(start + 1).split('&')
  return pieces.flatMap((piece) => {
    if (piece === '') return []
    const [name = '', ...values] = piece.split('=')
    return { name: decodeOrKeep(name), value: decodeOrKeep(values.join('=')) }
  })
}

const decodeOrKeep = (text: string): string => decode(spaced(text)) ?? text

/** Splits a decoded list. A backslash escapes a comma or a backslash. Throws `ListError` if a value is empty. */
export function splitList(value: string): string[] {
  const items = value.includes('\\') ? splitEscaped(value) : value.split(',')
  if (items.includes('')) throw new ListError('the list contains an empty value')
  return items
}

function splitEscaped(value: string): string[] {
  const items: string[] = []
  let item = ''
  for (let position = 0; position < value.length; position += 1) {
    const character = value.charAt(position)
    const next = value.charAt(position + 1)
    if (character === ',') {
      items.push(item)
      item = ''
    } else if (character === '\\' && (next === ',' || next === '\\')) {
      item += next
      position += 1
    } else item += character
  }
  items.push(item)
  return items
}

const wrongEncoding = 'must be percent-encoded UTF-8 without NUL'

const spaced = (text: string): string => (text.includes('+') ? text.replaceAll('+', ' ') : text)

/** Undefined if the text is invalid. */
function decode(text: string): string | undefined {
  // A URL may only contain visible ASCII. The spaces come from pluses.
  if (/[^\x20-\x7e]/.test(text)) return undefined
  if (!text.includes('%')) return text
  try {
    const decoded = decodeURIComponent(text)
    return decoded.includes('\0') ? undefined : decoded
  } catch {
    return undefined
  }
}
