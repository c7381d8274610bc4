import { bodyBytesOf, type Draft } from './draft.ts'
import { brokenScalars, hostileScalars, hostileText, hostileTexts, nested } from './hostile.ts'
import { type Json, type Members, objectsIn, type Position, positionsIn, scalar } from './json.ts'
import type { Random } from './random.ts'
import type { Schema } from './document.ts'
import type { FuzzContext } from './context.ts'

type Change = (json: Json, draft: Draft, context: FuzzContext, random: Random) => Json | Buffer

/** Changes the body, or adds one. */
export function changeBody(draft: Draft, context: FuzzContext, random: Random): string {
  if (draft.framing === 'none') draft.framing = 'length'
  const { body = scalar('{}') } = draft
  // Once it is no longer JSON, only its bytes can be changed.
  const json: Json = Buffer.isBuffer(body) ? scalar(body.toString('latin1')) : body
  const name = random.weighted(weights)
  draft.body = changes[name](json, draft, context, random)
  return name
}

const weights = {
  'another value': 20,
  'a value at its bounds': 16,
  'a hostile string': 16,
  'an unknown property': 8,
  'a duplicate property': 6,
  'a missing property': 6,
  'a property of the response': 4,
  'a foreign id': 8,
  'another top-level value': 3,
  'invalid JSON': 6,
  'deep nesting': 4,
  'changed bytes': 5,
  'a large body': 1,
}

/** Replaces one nested value, or the whole text if no value is nested. */
function withReplacedValue(json: Json, random: Random, make: (position: Position) => string): Json {
  const positions = positionsIn(json)
  if (positions.length === 0) return scalar(make({ json, replace: () => undefined }))
  const position = random.pick(positions)
  position.replace(scalar(make(position)))
  return json
}

/** Adds a property to one of the objects. */
function withAddedProperty(json: Json, random: Random, member: (object: Members) => Members['members'][number]): Json {
  const objects = objectsIn(json)
  if (objects.length === 0) return { kind: 'members', members: [member({ kind: 'members', members: [] })] }
  const object = random.pick(objects)
  object.members.splice(random.below(object.members.length + 1), 0, member(object))
  return json
}

const changes: Record<keyof typeof weights, Change> = {
  'another value': (json, _draft, _context, random) =>
    withReplacedValue(json, random, () => random.pick(hostileScalars)),
  'a value at its bounds': (json, draft, _context, random) => atBounds(json, draft, random),
  'a hostile string': (json, _draft, _context, random) =>
    withReplacedValue(json, random, () => JSON.stringify(hostileText(random))),
  'an unknown property': (json, _draft, _context, random) =>
    withAddedProperty(json, random, (object) => ({
      name: unknownName(object, random),
      value: scalar(random.pick(hostileScalars)),
    })),
  'a duplicate property': (json, _draft, _context, random) =>
    withAddedProperty(json, random, ({ members }) => {
      const { name, value } = members.length > 0 ? random.pick(members) : { name: '"a"', value: scalar('1') }
      return { name: random.chance(80) ? name : escaped(name), value }
    }),
  'a missing property': (json, _draft, _context, random) => {
    const objects = objectsIn(json).filter(({ members }) => members.length > 0)
    if (objects.length === 0) return scalar('{}')
    const { members } = random.pick(objects)
    members.splice(random.below(members.length), 1)
    return json
  },
  'a property of the response': (json, draft, _context, random) =>
    withAddedProperty(json, random, () => ({ name: JSON.stringify(shownName(draft, random)), value: scalar('"a"') })),
  'a foreign id': (json, { operation }, { ours, theirs }, random) => {
    const ids = [...theirs.lexicon.ids.values(), ...ours.lexicon.ids.values()].flat()
    // Only in properties that are looked up: other texts would be stored and returned by later responses.
    const properties = Object.entries((operation.body?.schema.properties ?? {}) as Record<string, Schema>)
    const names = properties.flatMap(([name, { pattern }]) => (/_\[0-9a-f\]/.test(String(pattern)) ? [name] : []))
    if (json.kind !== 'members' || operation.ids.includes('hash')) return scalar(random.pick(hostileScalars))
    const name = JSON.stringify(random.pick(names.length > 0 ? names : ['id', 'organizationId', 'contactId']))
    const members = json.members.filter((member) => member.name !== name)
    return { kind: 'members', members: [...members, { name, value: scalar(JSON.stringify(random.pick(ids))) }] }
  },
  'another top-level value': (_json, _draft, _context, random) => scalar(random.pick(hostileScalars)),
  'invalid JSON': (json, _draft, _context, random) =>
    random.chance(70)
      ? withReplacedValue(json, random, () => random.pick(brokenScalars))
      : scalar(random.pick(brokenScalars)),
  'deep nesting': (json, _draft, _context, random) => {
    const levels = random.pick([31, 32, 33, 64, 1000, 10_000, 100_000])
    return random.chance(60)
      ? withReplacedValue(json, random, () => nested(levels, random))
      : scalar(nested(levels, random))
  },
  'changed bytes': (json, draft, _context, random) => otherBytes(bodyBytesOf({ ...draft, body: json }), random),
  'a large body': (json, draft, _context, random) => {
    const length = bodyBytesOf({ ...draft, body: json }).length
    const wanted = random.pick([1_048_575, 1_048_576, 1_048_577, 1_100_000, 65_536])
    // Whitespace around a value is insignificant.
    const space = ' '.repeat(Math.max(0, wanted - length))
    if (random.chance(50)) return Buffer.concat([bodyBytesOf({ ...draft, body: json }), Buffer.from(space)])
    return withReplacedValue(json, random, () => JSON.stringify('x'.repeat(wanted)))
  },
}

/** Sets a property to its maximum length, or one more or less, or to the end of its range. */
function atBounds(json: Json, { operation }: Draft, random: Random): Json {
  const properties = Object.entries((operation.body?.schema.properties ?? {}) as Record<string, Schema>)
  if (properties.length === 0) return json
  const [name, schema] = random.pick(properties)
  const { maxLength, minimum, maximum, maxItems, maxProperties } = schema
  const near = (bound: unknown): number => Number(bound) + random.pick([-1, 0, 1, 1])
  const value =
    typeof maxLength === 'number'
      ? JSON.stringify(
          random.pick(['x', 'ß', '漢', '\u{1f4a9}', 'e\u0301', ' ', 'İ']).repeat(Math.max(0, near(maxLength))),
        )
      : typeof maximum === 'number' || typeof minimum === 'number'
        ? String(near(random.pick([maximum ?? 2_147_483_647, minimum ?? 0])))
        : typeof maxItems === 'number'
          ? `[${Array.from({ length: near(maxItems) }, (_, index) => `"${index}"`).join()}]`
          : typeof maxProperties === 'number'
            ? `{${Array.from({ length: near(maxProperties) }, (_, index) => `"k${index}":${index}`).join()}}`
            : random.pick(hostileScalars)
  const member = { name: JSON.stringify(name), value: scalar(value) }
  if (json.kind !== 'members') return { kind: 'members', members: [member] }
  return { kind: 'members', members: [...json.members.filter((other) => other.name !== member.name), member] }
}

/** A name similar to one of the object's, or a hostile one. */
function unknownName({ members }: Members, random: Random): string {
  const known = members.length > 0 ? random.pick(members).name : '"name"'
  if (random.chance(30)) return known.toUpperCase()
  if (random.chance(30)) return known.replace(/"$/, 's"')
  return JSON.stringify(random.pick(hostileTexts))
}

/** The same name with an escaped character. */
const escaped = (name: string): string =>
  name.replace(/^"(\w)/, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`)

/** A property of the record that the operation returns; it may be read-only. */
function shownName({ operation }: Draft, random: Random): string {
  const [content] = [...operation.responses.values()]
  const [schema] = [...(content?.values() ?? [])]
  const names = Object.keys((schema?.properties ?? {}) as Schema)
  return random.pick([...names, 'organizationId', 'revision', 'deletedAt', 'createdBy'])
}

function otherBytes(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const kinds: (() => Buffer)[] = [
    () => bytes.subarray(0, at),
    () => Buffer.concat([bytes.subarray(0, at), Buffer.from([random.below(256)]), bytes.subarray(at)]),
    () => Buffer.concat([bytes.subarray(0, at), Buffer.from([random.below(256)]), bytes.subarray(at + 1)]),
    // Invalid UTF-8: truncated, overlong, a lone surrogate, beyond the last code point.
    ...[[0xc3], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff]].map(
      (bad) => () => Buffer.concat([bytes.subarray(0, at), Buffer.from(bad), bytes.subarray(at)]),
    ),
    () => Buffer.concat([Buffer.from('\ufeff'), bytes]),
    () => Buffer.from(bytes.toString(), 'utf16le'),
    () => Buffer.concat([bytes, bytes]),
    () => Buffer.from(' \r\n\t '),
    () => Buffer.alloc(0),
    () => Buffer.from('name=Ada&email=ada%40example.com'),
    () => Buffer.from('--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda\r\n--x--\r\n'),
    () => Buffer.from('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'),
  ]
  return random.pick(kinds)()
}
