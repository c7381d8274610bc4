import { METHODS } from 'node:http'
import type { Draft } from './draft.ts'
import type { World } from './drawing.ts'
import { isNamedBy, pathOf } from './fixture.ts'
import { encoded, hostileText } from './hostile.ts'
import type { Random } from './random.ts'

type Change = (draft: Draft, world: World, random: Random) => string

/** Puts another id into the path, which still is one of the operation's. */
export function changeIds(draft: Draft, world: World, random: Random): string {
  const name = random.weighted(idWeights)
  draft.path = idChanges[name](draft, world, random)
  return name
}

/** Puts another path in the place of the draft's. */
export function changePath(draft: Draft, world: World, random: Random): string {
  const name = random.weighted(draft.operation.ids.length > 0 ? pathWeights : { ...pathWeights, 'another segment': 0 })
  draft.path = pathChanges[name](draft, world, random) || '/'
  return name
}

const idWeights = {
  'a record of someone else': 30,
  'a deleted record': 8,
  'a record of another parent': 8,
  'another form': 8,
}

const pathWeights = {
  'another segment': 20,
  'encoded letters': 5,
  'slashes and dots': 8,
  'another case': 3,
  'another place': 6,
}

const idChanges: Record<keyof typeof idWeights, Change> = {
  'a record of someone else': ({ operation, path }, { theirs, ours }, random) => {
    const places = theirs.places.filter((place) => isNamedBy(operation.ids, place))
    if (places.length === 0) return path
    const { params } = random.one(places)
    // All of it theirs, or a part. The whole path of a push is a credential: it would be taken, and rightly.
    const own = ours.places.filter((place) => isNamedBy(operation.ids, place))
    const isWhole = !operation.ids.includes('hash') && random.chance(50)
    if (isWhole || own.length === 0) return isWhole ? pathOf(operation.path, params) : path
    const name = random.one(operation.ids)
    return pathOf(operation.path, { ...random.one(own).params, [name]: params[name] ?? '' })
  },
  'a deleted record': ({ operation, path }, { ours }, random) => {
    const places = ours.places.filter((place) => place.use === 'deleted' && isNamedBy(operation.ids, place))
    return places.length > 0 ? pathOf(operation.path, random.one(places).params) : path
  },
  'a record of another parent': ({ operation, path }, { ours }, random) => {
    const [first = ''] = operation.ids
    const others = ours.places.filter((place) => place.own === first)
    const places = ours.places.filter((place) => isNamedBy(operation.ids, place))
    if (others.length === 0 || places.length === 0) return path
    return pathOf(operation.path, { ...random.one(places).params, [first]: random.one(others).params[first] ?? '' })
  },
  'another form': (draft, { ours }, random) =>
    withSegment(draft, random, wrongForm(random.one([...ours.lexicon.ids.values()].flat()), random)),
}

const pathChanges: Record<keyof typeof pathWeights, Change> = {
  'another segment': (draft, _world, random) => withSegment(draft, random, encoded(hostileText(random).slice(0, 500))),
  'encoded letters': ({ path }, _world, random) =>
    [...path]
      .map((letter) => (random.chance(15) ? `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}` : letter))
      .join(''),
  'slashes and dots': ({ path }, _world, random) => {
    const at = [...path.matchAll(/\//g)].map(({ index }) => index)
    const place = random.one([...at, path.length])
    const piece = random.one([
      '/',
      '//',
      '/.',
      '/..',
      '/%2e%2e',
      '%2F',
      '%5c',
      '\\',
      ';a=1',
      '/%00',
      '%',
      '%zz',
      '%ff',
      ' ',
      '\u00e4',
      '?',
      '#a',
      ':',
      '*',
    ])
    return path.slice(0, place) + piece + path.slice(place)
  },
  'another case': ({ path }, _world, random) => (random.chance(50) ? path.toUpperCase() : path.replace('con', 'Con')),
  'another place': ({ path }, _world, random) =>
    random.one([
      ...[
        '/',
        '',
        '*',
        '/v4/contacts',
        '/v5',
        '/v5/',
        '/v5/contact',
        '/v6/me',
        '/api',
        '/api/teams',
        '/auth/',
        '/metrics',
      ],
      ...[
        '/favicon.ico',
        '/.env',
        '/v5/swagger/x',
        `http://elsewhere.example${path}`,
        `http://127.0.0.1${path}`,
        'elsewhere.example:443',
      ],
      ...[
        `${path}/${path}`,
        `/v5${path}`,
        path.replace('/v5', ''),
        path.replace('/v5', '/api'),
        `/${'a'.repeat(9000)}`,
        '/a'.repeat(3000),
      ],
    ]),
}

/** The path with this in the place of one of its ids. */
function withSegment({ operation, path }: Draft, random: Random, segment: string): string {
  const segments = path.split('/')
  const names = operation.path.split('/')
  const at = random.one(names.flatMap((name, index) => (name.startsWith('{') ? [index] : [])))
  return segments.map((other, index) => (index === at ? segment : other)).join('/')
}

function wrongForm(id: string, random: Random): string {
  const rest = id.slice(4)
  return random.one([
    id,
    rest,
    `con-${rest}`,
    `CON_${rest}`,
    `con_${rest.toUpperCase()}`,
    `con_${rest}0`,
    `con_${rest.slice(1)}`,
    `con_${'0'.repeat(32)}`,
    `con_${'f'.repeat(32)}`,
    `con_${rest.slice(0, 8)}-${rest.slice(8)}`,
    `con_${'9'.repeat(64)}`,
  ])
}

/** Puts another method in the place of the draft's: one that the path does not take, or none that there is. */
export function changeMethod(draft: Draft, random: Random): string {
  const { method } = draft
  // What may end a record is not asked of a kept one.
  const others = METHODS.filter((name) => !['DELETE', 'PATCH', 'POST', 'CONNECT', method].includes(name))
  const known = method === 'GET' ? ['HEAD', 'HEAD', 'OPTIONS', 'PUT'] : ['HEAD', 'OPTIONS', 'PUT', 'TRACE']
  draft.method = random.chance(60)
    ? random.one(known)
    : random.one([...others, 'get', 'BREW', 'GETS', 'X-ADD', 'CONNECT', ''])
  return draft.method
}
