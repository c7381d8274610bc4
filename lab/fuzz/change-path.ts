import { METHODS } from 'node:http'
import type { Draft } from './draft.ts'
import { isNamedBy, pathOf } from './fixture.ts'
import { percentEncode, hostileText } from './hostile.ts'
import type { Random } from './random.ts'
import type { FuzzContext } from './context.ts'

type Change = (draft: Draft, context: FuzzContext, random: Random) => string

/** Replaces an id in the path, which still belongs to the operation. */
export function changeIds(draft: Draft, context: FuzzContext, random: Random): string {
  const name = random.weighted(idWeights)
  draft.path = idChanges[name](draft, context, random)
  return name
}

/** Replaces the path. */
export function changePath(draft: Draft, context: FuzzContext, random: Random): string {
  const name = random.weighted(draft.operation.ids.length > 0 ? pathWeights : { ...pathWeights, 'another segment': 0 })
  draft.path = pathChanges[name](draft, context, random) || '/'
  return name
}

const idWeights = {
  'a foreign record': 30,
  'a deleted record': 8,
  'a record of another parent': 8,
  'a malformed id': 8,
}

const pathWeights = {
  'another segment': 20,
  'encoded letters': 5,
  'slashes and dots': 8,
  'another letter case': 3,
  'another path': 6,
}

const idChanges: Record<keyof typeof idWeights, Change> = {
  'a foreign record': ({ operation, path }, { theirs, ours }, random) => {
    const refs = theirs.refs.filter((ref) => isNamedBy(operation.ids, ref))
    if (refs.length === 0) return path
    const { params } = random.pick(refs)
    // All ids foreign, or only one. The path of a push is a credential, so a completely foreign one would be accepted.
    const own = ours.refs.filter((ref) => isNamedBy(operation.ids, ref))
    const isWhole = !operation.ids.includes('hash') && random.chance(50)
    if (isWhole || own.length === 0) return isWhole ? pathOf(operation.path, params) : path
    const name = random.pick(operation.ids)
    return pathOf(operation.path, { ...random.pick(own).params, [name]: params[name] ?? '' })
  },
  'a deleted record': ({ operation, path }, { ours }, random) => {
    const refs = ours.refs.filter((ref) => ref.lifetime === 'deleted' && isNamedBy(operation.ids, ref))
    return refs.length > 0 ? pathOf(operation.path, random.pick(refs).params) : path
  },
  'a record of another parent': ({ operation, path }, { ours }, random) => {
    const [first = ''] = operation.ids
    const others = ours.refs.filter((ref) => ref.idParameter === first)
    const refs = ours.refs.filter((ref) => isNamedBy(operation.ids, ref))
    if (others.length === 0 || refs.length === 0) return path
    return pathOf(operation.path, { ...random.pick(refs).params, [first]: random.pick(others).params[first] ?? '' })
  },
  'a malformed id': (draft, { ours }, random) =>
    withSegment(draft, random, malformedId(random.pick([...ours.lexicon.ids.values()].flat()), random)),
}

const pathChanges: Record<keyof typeof pathWeights, Change> = {
  'another segment': (draft, _context, random) =>
    withSegment(draft, random, percentEncode(hostileText(random).slice(0, 500))),
  'encoded letters': ({ path }, _context, random) =>
    [...path]
      .map((letter) => (random.chance(15) ? `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}` : letter))
      .join(''),
  'slashes and dots': ({ path }, _context, random) => {
    const at = [...path.matchAll(/\//g)].map(({ index }) => index)
    const ref = random.pick([...at, path.length])
    const piece = random.pick([
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
    return path.slice(0, ref) + piece + path.slice(ref)
  },
  'another letter case': ({ path }, _context, random) =>
    random.chance(50) ? path.toUpperCase() : path.replace('con', 'Con'),
  'another path': ({ path }, _context, random) =>
    random.pick([
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

/** Replaces one of the ids in the path. */
function withSegment({ operation, path }: Draft, random: Random, segment: string): string {
  const segments = path.split('/')
  const names = operation.path.split('/')
  const at = random.pick(names.flatMap((name, index) => (name.startsWith('{') ? [index] : [])))
  return segments.map((other, index) => (index === at ? segment : other)).join('/')
}

function malformedId(id: string, random: Random): string {
  const rest = id.slice(4)
  return random.pick([
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

/** Replaces the method with one that the path does not support, or with an unknown one. */
export function changeMethod(draft: Draft, random: Random): string {
  const { method } = draft
  // No methods that could delete or change a stable record.
  const others = METHODS.filter((name) => !['DELETE', 'PATCH', 'POST', 'CONNECT', method].includes(name))
  const known = method === 'GET' ? ['HEAD', 'HEAD', 'OPTIONS', 'PUT'] : ['HEAD', 'OPTIONS', 'PUT', 'TRACE']
  draft.method = random.chance(60)
    ? random.pick(known)
    : random.pick([...others, 'get', 'BREW', 'GETS', 'X-ADD', 'CONNECT', ''])
  return draft.method
}
