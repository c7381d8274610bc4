import type { Draft } from './draft.ts'
import type { World } from './drawing.ts'
import {
  accepted,
  brokenLines,
  contentTypes,
  encodings,
  framings,
  idempotencyKeys,
  manyOrLong,
  origins,
  otherHeaders,
  otherValues,
  tags,
  versions,
} from './header-values.ts'
import { hostileText } from './hostile.ts'
import type { Random } from './random.ts'

type Change = (draft: Draft, world: World, random: Random) => void

/** Changes the headers, or how the request is written on the wire. */
export function changeHead(draft: Draft, world: World, random: Random): string {
  const name = random.weighted(weights)
  changes[name](draft, world, random)
  return name
}

const weights = {
  'another credential': 22,
  'another organization': 8,
  'Content-Type': 12,
  Accept: 8,
  'Accept-Encoding': 8,
  'If-Match': 8,
  'If-None-Match': 6,
  'Idempotency-Key': 8,
  Origin: 5,
  'others that mean something': 8,
  'a header twice': 5,
  'a header that hurts': 6,
  'many or long headers': 2,
  framing: 5,
  'no HTTP': 4,
}

const drop = (draft: Draft, name: string): void => {
  draft.headers = draft.headers.filter((line) => !line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
}

const put = (draft: Draft, name: string, value: string): void => {
  drop(draft, name)
  draft.headers.push(`${name}: ${value}`)
}

/** As bytes of one character each, without those that would end the line. */
const fieldText = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[\0\r\n]/g, '')

const oneOf =
  (name: string, values: readonly string[]): Change =>
  (draft, _world, random) =>
    put(draft, name, random.chance(85) ? random.one(values) : fieldText(hostileText(random)))

const changes: Record<keyof typeof weights, Change> = {
  'another credential': (draft, world, random) => {
    const value = drawAuthorization(world, random)
    if (value === undefined) drop(draft, 'Authorization')
    else put(draft, 'Authorization', value)
  },
  'another organization': (draft, { theirs, ours }, random) => {
    const { organizationId } = theirs.account
    const own = ours.account.organizationId
    const value = random.one([
      organizationId,
      organizationId,
      `org_${'0'.repeat(32)}`,
      own.toUpperCase(),
      own.slice(4),
      `${own}, ${organizationId}`,
      '',
    ])
    if (value === '' && random.chance(50)) drop(draft, 'Service-Organization-ID')
    else put(draft, 'Service-Organization-ID', value)
  },
  'Content-Type': (draft, world, random) =>
    random.chance(15) ? drop(draft, 'Content-Type') : oneOf('Content-Type', contentTypes)(draft, world, random),
  Accept: oneOf('Accept', accepted),
  'Accept-Encoding': oneOf('Accept-Encoding', encodings),
  'If-Match': oneOf('If-Match', tags),
  'If-None-Match': oneOf('If-None-Match', tags),
  'Idempotency-Key': oneOf('Idempotency-Key', idempotencyKeys),
  Origin: (draft, world, random) => {
    oneOf('Origin', origins)(draft, world, random)
    if (random.chance(50)) put(draft, 'Access-Control-Request-Method', random.one(['POST', 'PATCH', 'X', '']))
    if (random.chance(50))
      put(draft, 'Access-Control-Request-Headers', random.one(['authorization', 'a,b', 'x'.repeat(300)]))
  },
  'others that mean something': (draft, world, random) =>
    oneOf(random.one(otherHeaders), otherValues)(draft, world, random),
  'a header twice': (draft, _world, random) => {
    const line = draft.headers.length > 0 ? random.one(draft.headers) : 'Accept: application/json'
    draft.headers.push(random.chance(50) ? line : `${line}x`)
  },
  'a header that hurts': (draft, _world, random) => {
    const name = random.one(['X-Any', 'X-Request-Id', 'User-Agent', 'Accept', 'Authorization', 'Cookie'])
    put(draft, name, fieldText(hostileText(random)))
  },
  'many or long headers': (draft, _world, random) => {
    const [count, length] = random.one(manyOrLong)
    for (let index = 0; index < count; index++) draft.headers.push(`X-${index}: ${'a'.repeat(length)}`)
  },
  framing: (draft, _world, random) => {
    draft.framing = random.one(framings)
  },
  'no HTTP': (draft, _world, random) => {
    const kind = random.below(4)
    if (kind === 0) draft.version = random.one(versions)
    else if (kind === 1) draft.lineEnd = random.one(['\n', '\r', '\r\n\r\n', '\n\r'])
    else draft.headers.splice(random.below(draft.headers.length + 1), 0, random.one(brokenLines))
  },
}

/** The Authorization header of others, of an ended key, of nobody; undefined to leave it out. */
function drawAuthorization({ ours, theirs, expiredKey, narrowKey }: World, random: Random): string | undefined {
  const { apiKey, accessToken, refreshToken } = ours.account
  const [head = '', payload = '', signature = ''] = accessToken.split('.')
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  return random.one([
    undefined,
    `Bearer ${expiredKey}`,
    `Bearer ${expiredKey}`,
    `Bearer ${narrowKey}`,
    `Bearer ${theirs.account.apiKey}`,
    `Bearer ${theirs.account.accessToken}`,
    `Bearer ${refreshToken}`,
    `bearer ${apiKey}`,
    `Bearer  ${apiKey}`,
    `Bearer ${apiKey.slice(0, -1)}`,
    `Bearer ${apiKey}x`,
    `Basic ${Buffer.from(`${apiKey}:`).toString('base64')}`,
    apiKey,
    'Bearer',
    'Bearer svc_',
    `Bearer ${head}.${payload}.${[...signature].reverse().join('')}`,
    `Bearer ${none}.${payload}.`,
    `Bearer ${head}.e30.${signature}`,
    `Bearer ${apiKey}, Bearer ${theirs.account.apiKey}`,
    `Bearer ${fieldText(hostileText(random))}`,
    fieldText(hostileText(random)),
  ])
}
