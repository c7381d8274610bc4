/**
 * A JSON text in pieces. Not a value: it has to hold what no value can, such as a member given twice, `1e400`, an
 * escape of half a surrogate pair.
 */
export type Json = Scalar | List | Members
/** A text that is written as it stands. */
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
  /** Names are written as they stand too, with their quotes. */
  members: { name: string; value: Json }[]
}

export const scalar = (text: string): Scalar => ({ kind: 'scalar', text })

/** The pieces of a value. */
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

/** Somewhere in a JSON text: what stands there, and how to put another thing in its place. */
export interface Position {
  json: Json
  replace(json: Json): void
}

/** Every place below the top. */
export function positionsIn(json: Json): Position[] {
  if (json.kind === 'scalar') return []
  const own: Position[] =
    json.kind === 'list'
      ? json.items.map((item, index) => ({ json: item, replace: (other) => (json.items[index] = other) }))
      : json.members.map((member) => ({ json: member.value, replace: (other) => (member.value = other) }))
  return own.flatMap((position) => [position, ...positionsIn(position.json)])
}

/** The objects of a JSON text, the top included. */
export const objectsIn = (json: Json): Members[] =>
  [json, ...positionsIn(json).map((position) => position.json)].filter((part) => part.kind === 'members')

/** A copy that can be changed without changing the first. */
export function copyOf(json: Json): Json {
  if (json.kind === 'scalar') return { ...json }
  if (json.kind === 'list') return { kind: 'list', items: json.items.map(copyOf) }
  return { kind: 'members', members: json.members.map(({ name, value }) => ({ name, value: copyOf(value) })) }
}
