/**
 * A JSON text in parts. It can contain what a JavaScript value cannot, such as a duplicate property, `1e400` or an
 * escaped lone surrogate.
 */
export type Json = Scalar | List | Members
/** A text that is written unchanged. */
export interface Scalar {
  kind: 'scalar'
  text: string
}
export interface List {
  kind: 'list'
  items: Json[]
}
export interface Members {
  kind: 'members'
  /** Names are written unchanged, including their quotes. */
  members: { name: string; value: Json }[]
}

export const scalar = (text: string): Scalar => ({ kind: 'scalar', text })

/** Converts a value. */
export function piecesOf(value: unknown): Json {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(piecesOf) }
  if (typeof value !== 'object' || value === null) return scalar(JSON.stringify(value) ?? 'null')
  const members = Object.entries(value).map(([name, part]) => ({ name: JSON.stringify(name), value: piecesOf(part) }))
  return { kind: 'members', members }
}

export function textOf(json: Json): string {
  if (json.kind === 'scalar') return json.text
  if (json.kind === 'list') return `[${json.items.map(textOf).join(',')}]`
  return `{${json.members.map(({ name, value }) => `${name}:${textOf(value)}`).join(',')}}`
}

/** A position in a JSON text: its value, and a function that replaces it. */
export interface Position {
  json: Json
  replace(json: Json): void
}

/** All positions below the top level. */
export function positionsIn(json: Json): Position[] {
  if (json.kind === 'scalar') return []
  const own: Position[] =
    json.kind === 'list'
      ? json.items.map((item, index) => ({ json: item, replace: (other) => (json.items[index] = other) }))
      : json.members.map((member) => ({ json: member.value, replace: (other) => (member.value = other) }))
  return own.flatMap((position) => [position, ...positionsIn(position.json)])
}

/** The objects of a JSON text, including the top level. */
export const objectsIn = (json: Json): Members[] =>
  [json, ...positionsIn(json).map((position) => position.json)].filter((part) => part.kind === 'members')

/** A deep copy. */
export function copyOf(json: Json): Json {
  if (json.kind === 'scalar') return { ...json }
  if (json.kind === 'list') return { kind: 'list', items: json.items.map(copyOf) }
  return { kind: 'members', members: json.members.map(({ name, value }) => ({ name, value: copyOf(value) })) }
}
