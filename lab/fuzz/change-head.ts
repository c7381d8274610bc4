import type { Draft } from './draft.ts'
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
import type { FuzzContext } from './context.ts'

type Change = (draft: Draft, context: FuzzContext, random: Random) => void

/** Changes the headers or the framing of the request. */
export function changeHead(draft: Draft, context: FuzzContext, random: Random): string {
  const name = random.weighted(weights)
  changes[name](draft, context, random)
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
  'other meaningful headers': 8,
  'a duplicate header': 5,
  'a hostile header': 6,
  'many or long headers': 2,
  framing: 5,
  'malformed HTTP': 4,
}

const removeHeader = (draft: Draft, name: string): void => {
  draft.headers = draft.headers.filter((line) => !line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
}

const setHeader = (draft: Draft, name: string, value: string): void => {
  removeHeader(draft, name)
  draft.headers.push(`${name}: ${value}`)
}

/** Each byte as one character, without those that would end the line. */
const fieldText = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[\0\r\n]/g, '')

const headerFrom =
  (name: string, values: readonly string[]): Change =>
  (draft, _context, random) =>
    setHeader(draft, name, random.chance(85) ? random.pick(values) : fieldText(hostileText(random)))

const changes: Record<keyof typeof weights, Change> = {
  'another credential': (draft, context, random) => {
    const value = drawAuthorization(context, random)
    if (value === undefined) removeHeader(draft, 'Authorization')
    else setHeader(draft, 'Authorization', value)
  },
  'another organization': (draft, { theirs, ours }, random) => {
    const { organizationId } = theirs.account
    const own = ours.account.organizationId
    const value = random.pick([
      organizationId,
      organizationId,
      `org_${'0'.repeat(32)}`,
      own.toUpperCase(),
      own.slice(4),
      `${own}, ${organizationId}`,
      '',
    ])
    if (value === '' && random.chance(50)) removeHeader(draft, 'Service-Organization-ID')
    else setHeader(draft, 'Service-Organization-ID', value)
  },
  'Content-Type': (draft, context, random) =>
    random.chance(15)
      ? removeHeader(draft, 'Content-Type')
      : headerFrom('Content-Type', contentTypes)(draft, context, random),
  Accept: headerFrom('Accept', accepted),
  'Accept-Encoding': headerFrom('Accept-Encoding', encodings),
  'If-Match': headerFrom('If-Match', tags),
  'If-None-Match': headerFrom('If-None-Match', tags),
  'Idempotency-Key': headerFrom('Idempotency-Key', idempotencyKeys),
  Origin: (draft, context, random) => {
    headerFrom('Origin', origins)(draft, context, random)
    if (random.chance(50)) setHeader(draft, 'Access-Control-Request-Method', random.pick(['POST', 'PATCH', 'X', '']))
    if (random.chance(50))
      setHeader(draft, 'Access-Control-Request-Headers', random.pick(['authorization', 'a,b', 'x'.repeat(300)]))
  },
  'other meaningful headers': (draft, context, random) =>
    headerFrom(random.pick(otherHeaders), otherValues)(draft, context, random),
  'a duplicate header': (draft, _context, random) => {
    const line = draft.headers.length > 0 ? random.pick(draft.headers) : 'Accept: application/json'
    draft.headers.push(random.chance(50) ? line : `${line}x`)
  },
  'a hostile header': (draft, _context, random) => {
    const name = random.pick(['X-Any', 'X-Request-Id', 'User-Agent', 'Accept', 'Authorization', 'Cookie'])
    setHeader(draft, name, fieldText(hostileText(random)))
  },
  'many or long headers': (draft, _context, random) => {
    const [count, length] = random.pick(manyOrLong)
    for (let index = 0; index < count; index++) draft.headers.push(`X-${index}: ${'a'.repeat(length)}`)
  },
  framing: (draft, _context, random) => {
    draft.framing = random.pick(framings)
  },
  'malformed HTTP': (draft, _context, random) => {
    const kind = random.below(4)
    if (kind === 0) draft.version = random.pick(versions)
    else if (kind === 1) draft.lineEnd = random.pick(['\n', '\r', '\r\n\r\n', '\n\r'])
    else draft.headers.splice(random.below(draft.headers.length + 1), 0, random.pick(brokenLines))
  },
}

/** Another, expired or invalid credential for the Authorization header; undefined for none. */
function drawAuthorization({ ours, theirs, expiredKey, narrowKey }: FuzzContext, random: Random): string | undefined {
  const { apiKey, accessToken, refreshToken } = ours.account
  const [head = '', payload = '', signature = ''] = accessToken.split('.')
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  return random.pick([
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
