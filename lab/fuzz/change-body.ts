import { bodyBytesOf, type Draft } from './draft.ts'
import type { FuzzContext } from './drawing.ts'
import { brokenScalars, hostileScalars, hostileText, hostileTexts, nested } from './hostile.ts'
import { type Json, type Members, objectsIn, type Position, positionsIn, scalar } from './json.ts'
import type { Random } from './random.ts'
import type { Schema } from './document.ts'

type Change = (json: Json, draft: Draft, context: FuzzContext, random: Random) => Json | Buffer

/** Changes the body; a request that has none gets one. */
export function changeBody(draft: Draft, context: FuzzContext, random: Random): string {
  if (draft.framing === 'none') draft.framing = 'length'
  const { body = scalar('{}') } = draft
  // Once it is no JSON text in pieces, there is no more to change than its bytes.
  const json: Json = Buffer.isBuffer(body) ? scalar(body.toString('latin1')) : body
  const name = random.weighted(weights)
  draft.body = changes[name](json, draft, context, random)
  return name
}

const weights = {
  'another value': 20,
  'at its bounds': 16,
  'a text that hurts': 16,
  'an unknown member': 8,
  'a member twice': 6,
  'a member left out': 6,
  'a member of the answer': 4,
  'an id of someone else': 8,
  'another top': 3,
  'no JSON': 6,
  'deep nesting': 4,
  'other bytes': 5,
  'a large one': 1,
}

/** Replaces one value of it, or all of it where there is none below the top. */
function withReplacedValue(json: Json, random: Random, make: (position: Position) => string): Json {
  const positions = positionsIn(json)
  if (positions.length === 0) return scalar(make({ json, replace: () => undefined }))
  const position = random.pick(positions)
  position.replace(scalar(make(position)))
  return json
}

/** Adds a member to one of the objects. */
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
  'at its bounds': (json, draft, _context, random) => atBounds(json, draft, random),
  'a text that hurts': (json, _draft, _context, random) =>
    withReplacedValue(json, random, () => JSON.stringify(hostileText(random))),
  'an unknown member': (json, _draft, _context, random) =>
    withAddedProperty(json, random, (object) => ({
      name: unknownName(object, random),
      value: scalar(random.pick(hostileScalars)),
    })),
  'a member twice': (json, _draft, _context, random) =>
    withAddedProperty(json, random, ({ members }) => {
      const { name, value } = members.length > 0 ? random.pick(members) : { name: '"a"', value: scalar('1') }
      return { name: random.chance(80) ? name : escaped(name), value }
    }),
  'a member left out': (json, _draft, _context, random) => {
    const objects = objectsIn(json).filter(({ members }) => members.length > 0)
    if (objects.length === 0) return scalar('{}')
    const { members } = random.pick(objects)
    members.splice(random.below(members.length), 1)
    return json
  },
  'a member of the answer': (json, draft, _context, random) =>
    withAddedProperty(json, random, () => ({ name: JSON.stringify(shownName(draft, random)), value: scalar('"a"') })),
  'an id of someone else': (json, { operation }, { ours, theirs }, random) => {
    const ids = [...theirs.lexicon.ids.values(), ...ours.lexicon.ids.values()].flat()
    // Only where it is looked up: a text that we sent ourselves would come back with each answer that shows it.
    const properties = Object.entries((operation.body?.schema.properties ?? {}) as Record<string, Schema>)
    const names = properties.flatMap(([name, { pattern }]) => (/_\[0-9a-f\]/.test(String(pattern)) ? [name] : []))
    if (json.kind !== 'members' || operation.ids.includes('hash')) return scalar(random.pick(hostileScalars))
    const name = JSON.stringify(random.pick(names.length > 0 ? names : ['id', 'organizationId', 'contactId']))
    const members = json.members.filter((member) => member.name !== name)
    return { kind: 'members', members: [...members, { name, value: scalar(JSON.stringify(random.pick(ids))) }] }
  },
  'another top': (_json, _draft, _context, random) => scalar(random.pick(hostileScalars)),
  'no JSON': (json, _draft, _context, random) =>
    random.chance(70)
      ? withReplacedValue(json, random, () => random.pick(brokenScalars))
      : scalar(random.pick(brokenScalars)),
  'deep nesting': (json, _draft, _context, random) => {
    const levels = random.pick([31, 32, 33, 64, 1000, 10_000, 100_000])
    return random.chance(60)
      ? withReplacedValue(json, random, () => nested(levels, random))
      : scalar(nested(levels, random))
  },
  'other bytes': (json, draft, _context, random) => otherBytes(bodyBytesOf({ ...draft, body: json }), random),
  'a large one': (json, draft, _context, random) => {
    const length = bodyBytesOf({ ...draft, body: json }).length
    const wanted = random.pick([1_048_575, 1_048_576, 1_048_577, 1_100_000, 65_536])
    // Space around a value is no part of it.
    const space = ' '.repeat(Math.max(0, wanted - length))
    if (random.chance(50)) return Buffer.concat([bodyBytesOf({ ...draft, body: json }), Buffer.from(space)])
    return withReplacedValue(json, random, () => JSON.stringify('x'.repeat(wanted)))
  },
}

/** A text as long as it may be, one more, one less; a number at the end of its range. */
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

/** A name like one of the object's, or one that hurts. */
function unknownName({ members }: Members, random: Random): string {
  const known = members.length > 0 ? random.pick(members).name : '"name"'
  if (random.chance(30)) return known.toUpperCase()
  if (random.chance(30)) return known.replace(/"$/, 's"')
  return JSON.stringify(random.pick(hostileTexts))
}

/** The same name in other characters. */
const escaped = (name: string): string =>
  name.replace(/^"(\w)/, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`)

/** A member of the record that the operation answers with, which may be one that nobody sets. */
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
    // Bytes that no UTF-8 has: cut off, too long a form, half of a pair, beyond the last character.
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
