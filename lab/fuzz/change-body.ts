import { bodyBytesOf, type Draft } from './draft.ts'
import type { World } from './drawing.ts'
import { brokenScalars, hostileScalars, hostileText, hostileTexts, nested } from './hostile.ts'
import { type Json, type Members, objectsIn, type Place, placesIn, scalar } from './json.ts'
import type { Random } from './random.ts'
import type { Schema } from './document.ts'

type Change = (json: Json, draft: Draft, world: World, random: Random) => Json | Buffer

/** Changes the body; a request that has none gets one. */
export function changeBody(draft: Draft, world: World, random: Random): string {
  if (draft.framing === 'none') draft.framing = 'length'
  const { body = scalar('{}') } = draft
  // Once it is no JSON text in pieces, there is no more to change than its bytes.
  const json: Json = Buffer.isBuffer(body) ? scalar(body.toString('latin1')) : body
  const name = random.weighted(weights)
  draft.body = changes[name](json, draft, world, random)
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
function replaced(json: Json, random: Random, make: (place: Place) => string): Json {
  const places = placesIn(json)
  if (places.length === 0) return scalar(make({ json, replace: () => undefined }))
  const place = random.one(places)
  place.replace(scalar(make(place)))
  return json
}

/** Adds a member to one of the objects. */
function added(json: Json, random: Random, member: (object: Members) => Members['members'][number]): Json {
  const objects = objectsIn(json)
  if (objects.length === 0) return { kind: 'members', members: [member({ kind: 'members', members: [] })] }
  const object = random.one(objects)
  object.members.splice(random.below(object.members.length + 1), 0, member(object))
  return json
}

const changes: Record<keyof typeof weights, Change> = {
  'another value': (json, _draft, _world, random) => replaced(json, random, () => random.one(hostileScalars)),
  'at its bounds': (json, draft, _world, random) => atBounds(json, draft, random),
  'a text that hurts': (json, _draft, _world, random) =>
    replaced(json, random, () => JSON.stringify(hostileText(random))),
  'an unknown member': (json, _draft, _world, random) =>
    added(json, random, (object) => ({ name: unknownName(object, random), value: scalar(random.one(hostileScalars)) })),
  'a member twice': (json, _draft, _world, random) =>
    added(json, random, ({ members }) => {
      const { name, value } = members.length > 0 ? random.one(members) : { name: '"a"', value: scalar('1') }
      return { name: random.chance(80) ? name : escaped(name), value }
    }),
  'a member left out': (json, _draft, _world, random) => {
    const objects = objectsIn(json).filter(({ members }) => members.length > 0)
    if (objects.length === 0) return scalar('{}')
    const { members } = random.one(objects)
    members.splice(random.below(members.length), 1)
    return json
  },
  'a member of the answer': (json, draft, _world, random) =>
    added(json, random, () => ({ name: JSON.stringify(shownName(draft, random)), value: scalar('"a"') })),
  'an id of someone else': (json, { operation }, { ours, theirs }, random) => {
    const ids = [...theirs.lexicon.ids.values(), ...ours.lexicon.ids.values()].flat()
    // Only where it is looked up: a text that we sent ourselves would come back with each answer that shows it.
    const properties = Object.entries((operation.body?.schema.properties ?? {}) as Record<string, Schema>)
    const names = properties.flatMap(([name, { pattern }]) => (/_\[0-9a-f\]/.test(String(pattern)) ? [name] : []))
    if (json.kind !== 'members' || operation.ids.includes('hash')) return scalar(random.one(hostileScalars))
    const name = JSON.stringify(random.one(names.length > 0 ? names : ['id', 'organizationId', 'contactId']))
    const members = json.members.filter((member) => member.name !== name)
    return { kind: 'members', members: [...members, { name, value: scalar(JSON.stringify(random.one(ids))) }] }
  },
  'another top': (_json, _draft, _world, random) => scalar(random.one(hostileScalars)),
  'no JSON': (json, _draft, _world, random) =>
    random.chance(70) ? replaced(json, random, () => random.one(brokenScalars)) : scalar(random.one(brokenScalars)),
  'deep nesting': (json, _draft, _world, random) => {
    const levels = random.one([31, 32, 33, 64, 1000, 10_000, 100_000])
    return random.chance(60) ? replaced(json, random, () => nested(levels, random)) : scalar(nested(levels, random))
  },
  'other bytes': (json, draft, _world, random) => otherBytes(bodyBytesOf({ ...draft, body: json }), random),
  'a large one': (json, draft, _world, random) => {
    const length = bodyBytesOf({ ...draft, body: json }).length
    const wanted = random.one([1_048_575, 1_048_576, 1_048_577, 1_100_000, 65_536])
    // Space around a value is no part of it.
    const space = ' '.repeat(Math.max(0, wanted - length))
    if (random.chance(50)) return Buffer.concat([bodyBytesOf({ ...draft, body: json }), Buffer.from(space)])
    return replaced(json, random, () => JSON.stringify('x'.repeat(wanted)))
  },
}

/** A text as long as it may be, one more, one less; a number at the end of its range. */
function atBounds(json: Json, { operation }: Draft, random: Random): Json {
  const properties = Object.entries((operation.body?.schema.properties ?? {}) as Record<string, Schema>)
  if (properties.length === 0) return json
  const [name, schema] = random.one(properties)
  const { maxLength, minimum, maximum, maxItems, maxProperties } = schema
  const near = (bound: unknown): number => Number(bound) + random.one([-1, 0, 1, 1])
  const value =
    typeof maxLength === 'number'
      ? JSON.stringify(
          random.one(['x', 'ß', '漢', '\u{1f4a9}', 'e\u0301', ' ', 'İ']).repeat(Math.max(0, near(maxLength))),
        )
      : typeof maximum === 'number' || typeof minimum === 'number'
        ? String(near(random.one([maximum ?? 2_147_483_647, minimum ?? 0])))
        : typeof maxItems === 'number'
          ? `[${Array.from({ length: near(maxItems) }, (_, index) => `"${index}"`).join()}]`
          : typeof maxProperties === 'number'
            ? `{${Array.from({ length: near(maxProperties) }, (_, index) => `"k${index}":${index}`).join()}}`
            : random.one(hostileScalars)
  const member = { name: JSON.stringify(name), value: scalar(value) }
  if (json.kind !== 'members') return { kind: 'members', members: [member] }
  return { kind: 'members', members: [...json.members.filter((other) => other.name !== member.name), member] }
}

/** A name like one of the object's, or one that hurts. */
function unknownName({ members }: Members, random: Random): string {
  const known = members.length > 0 ? random.one(members).name : '"name"'
  if (random.chance(30)) return known.toUpperCase()
  if (random.chance(30)) return known.replace(/"$/, 's"')
  return JSON.stringify(random.one(hostileTexts))
}

/** The same name in other characters. */
const escaped = (name: string): string =>
  name.replace(/^"(\w)/, (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`)

/** A member of the record that the operation answers with, which may be one that nobody sets. */
function shownName({ operation }: Draft, random: Random): string {
  const [content] = [...operation.answers.values()]
  const [schema] = [...(content?.values() ?? [])]
  const names = Object.keys((schema?.properties ?? {}) as Schema)
  return random.one([...names, 'organizationId', 'revision', 'deletedAt', 'createdBy'])
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
  return random.one(kinds)()
}
