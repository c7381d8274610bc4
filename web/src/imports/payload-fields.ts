/** A JSON object as it was pushed. */
export type Payload = Readonly<Record<string, unknown>>

/** How a value is edited: as text, or as the JSON type that was sent. */
export type ValueKind = 'text' | 'number' | 'flag' | 'list' | 'other'

export interface PayloadField {
  /** Path in the payload, such as `contact.email` or `employment.history.0.start`. */
  path: string
  kind: ValueKind
  /** The value as the input shows it. */
  text: string
}

/** Always offered, because contacts are matched by them. */
const essential = ['contact.email', 'contact.name']
const parts = ['contact', 'employment', 'company']

/** The form's fields for a payload: sent fields, fields that findings name, and the essential ones. */
export function fieldsOf(payload: Payload, named: readonly string[] = []): PayloadField[] {
  const sent = leavesOf(payload, '')
  const known = new Set(sent.map(({ path }) => path))
  const isField = (path: string) => parts.some((part) => path.startsWith(`${part}.`)) && !isInside(path, known)
  const missing = [...new Set([...essential, ...named])].filter((path) => !known.has(path) && isField(path))
  const isParent = (path: string) => sent.some((field) => field.path.startsWith(`${path}.`))
  const added = missing
    .filter((path) => !isParent(path))
    .map((path): PayloadField => ({ path, kind: 'text', text: '' }))
  return [...sent, ...added].toSorted((one, other) => placeOf(one.path) - placeOf(other.path))
}

/** Inside a value that is edited as a whole, such as a list. */
const isInside = (path: string, known: ReadonlySet<string>): boolean =>
  path.split('.').some((_, index, steps) => known.has(steps.slice(0, index).join('.')))

/** Sorts contact first, and the essential fields of each part first. */
function placeOf(path: string): number {
  const part = parts.indexOf(path.split('.')[0] ?? '')
  const first = essential.indexOf(path)
  return (part < 0 ? parts.length : part) * 10 + (first < 0 ? essential.length : first)
}

function leavesOf(value: unknown, path: string): PayloadField[] {
  if (isObject(value) && (path === '' || Object.keys(value).length > 0))
    return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, path === '' ? name : `${path}.${name}`))
  if (Array.isArray(value) && value.some(isObject))
    return value.flatMap((inner, index) => leavesOf(inner, `${path}.${index}`))
  if (value === null || value === undefined) return [{ path, kind: 'text', text: '' }]
  return [{ path, kind: kindOf(value), text: textOf(value) }]
}

function kindOf(value: unknown): ValueKind {
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'flag'
  if (Array.isArray(value) && value.every((item) => typeof item === 'string' && !item.includes('\n'))) return 'list'
  return typeof value === 'string' ? 'text' : 'other'
}

function textOf(value: unknown): string {
  if (Array.isArray(value) && kindOf(value) === 'list') return value.join('\n')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The payload with these texts at their paths; an empty text removes the field. All other values stay as sent. */
export function withTexts(payload: Payload, texts: ReadonlyMap<string, string>): Payload {
  const kinds = new Map(fieldsOf(payload).map(({ path, kind }) => [path, kind]))
  return [...texts].reduce<Payload>(
    (changed, [path, text]) => withValue(changed, path.split('.'), valueOf(text, kinds.get(path) ?? 'text')) as Payload,
    payload,
  )
}

/** Undefined removes the field. */
function valueOf(text: string, kind: ValueKind): unknown {
  if (text.trim() === '') return undefined
  if (kind === 'list') return text.split('\n').flatMap((item) => item.trim() || [])
  if (kind === 'text') return text
  try {
    return JSON.parse(text)
  } catch {
    // The text no longer fits the value's type; the service reports what it expects.
    return text
  }
}

function withValue(whole: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  const inner = (current: unknown) => (rest.length === 0 ? value : withValue(current, rest, value))
  if (Array.isArray(whole))
    return whole.flatMap((item: unknown, index) => {
      const next = String(index) === step ? inner(item) : item
      return next === undefined ? [] : [next]
    })
  const object = isObject(whole) ? whole : {}
  const next = inner(Object.hasOwn(object, step) ? object[step] : undefined)
  const { [step]: _, ...others } = object
  // Keep the property's position.
  if (next !== undefined && step in object)
    return Object.fromEntries(Object.entries(object).map(([name, known]) => [name, name === step ? next : known]))
  return next === undefined ? others : { ...others, [step]: next }
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Field names that other systems send at the top level; a push has them in `contact`. */
const flatNames = /^(e-?mail|name|phone|firstName|lastName|website|note|bio|location)$/i

/** Converts a refused body (JSON or a form) to a payload. Fields outside the parts of a push go to the contact. */
export function payloadOf(body: string): Payload | undefined {
  const read = parsed(body)
  if (!isObject(read)) return undefined
  if (parts.some((part) => isObject(read[part]))) return read
  const entries = Object.entries(read).map(([name, value]) => [flatNames.test(name) ? contactName(name) : name, value])
  return { contact: Object.fromEntries(entries) }
}

const contactName = (name: string): string =>
  /^e-?mail$/i.test(name) ? 'email' : name.charAt(0).toLowerCase() + name.slice(1)

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    const form = new URLSearchParams(body)
    return /^[^\s=&{[]+=/.test(body) ? Object.fromEntries(form) : undefined
  }
}
