import type { Draft } from './draft.ts'
import type { Operation, Parameter } from './document.ts'
import { isNamedBy, pathOf, type RecordRef } from './fixture.ts'
import { percentEncode } from './hostile.ts'
import { change } from './changes.ts'
import { type Json, piecesOf } from './json.ts'
import { personParams, validBody } from './person.ts'
import { Random } from './random.ts'
import { textOf, valueOf } from './values.ts'
import type { FuzzContext } from './context.ts'

/**
 * Generates the request with this number: a valid one, which is then mutated up to three times. The first one of each
 * operation stays valid, because a mutation can send it to another operation: whatever the seed, each is requested.
 */
export function drawRequest(context: FuzzContext, number: number): Draft {
  const random = new Random(context.seed, number)
  const draft = validRequest(context, number, random)
  const changes = number < context.operations.length ? 0 : random.weighted({ 0: 30, 1: 45, 2: 17, 3: 8 })
  for (let count = Number(changes); count > 0; count--) change(draft, context, random)
  if (isTheirs(draft, context)) draft.headers = draft.headers.filter((line) => !/^authorization:/i.test(line))
  return draft
}

/**
 * Whether the request is fully authorized for the other organization, so that its effects and response are legitimate.
 * Their credentials must be sent only with our organization, and the secrets of their imports only with our imports.
 */
export function isTheirs({ headers, path }: Draft, { ours, theirs }: FuzzContext): boolean {
  const { apiKey, accessToken, organizationId } = theirs.account
  const isOurs = headers.includes(`Service-Organization-ID: ${ours.account.organizationId}`)
  const hasTheirs = headers.some((line) => line.includes(apiKey) || line.includes(accessToken))
  const isTheirPush = theirs.refs.some(
    ({ params }) =>
      params.hash !== undefined && path.includes(params.hash) && path.includes(params.importId ?? organizationId),
  )
  return (hasTheirs && !isOurs) || isTheirPush
}

/** Generates a request that is valid according to the document. */
function validRequest(context: FuzzContext, number: number, random: Random): Draft {
  const operation = drawOperation(context, number, random)
  const params = operation.isAccount
    ? personParams(context.learned.personState, random)
    : drawRecord(operation, context.ours.refs, random)?.params
  const path = pathOf(operation.path, params ?? {})
  const draft: Draft = {
    number,
    operation,
    method: operation.method,
    path,
    query: drawQuery(operation, context, random),
    headers: [...drawCredential(operation, context, random), ...drawHeaders(operation, path, context, random)],
    body: undefined,
    framing: 'none',
    version: 'HTTP/1.1',
    lineEnd: '\r\n',
    changes: [],
  }
  addBody(draft, context, random)
  return draft
}

/**
 * Each operation in turn. Every second round replaces simple ones with operations that have a body or many parameters.
 */
function drawOperation({ operations }: FuzzContext, number: number, random: Random): Operation {
  const one = operations[number % operations.length] ?? random.pick(operations)
  const other = random.pick(operations)
  const isSwapped = Math.floor(number / operations.length) % 2 === 1
  return isSwapped && !one.body && one.query.length < 10 && (other.body || other.query.length >= 10) ? other : one
}

const mayEndRecord = ({ method, path }: Operation) =>
  method === 'DELETE' || /\/(?:restore|disable|enable|rotate|revoke|block|cancel)$/.test(path)

/** A record for the path; never a stable one for operations that may end a record. */
function drawRecord(operation: Operation, refs: readonly RecordRef[], random: Random): RecordRef | undefined {
  const endsRecord = mayEndRecord(operation)
  const wanted = endsRecord ? random.pick(['deleted', 'expendable']) : random.chance(85) ? 'stable' : 'expendable'
  const possible = refsFor(operation, refs).filter(({ lifetime }) => lifetime !== 'stable' || !endsRecord)
  const fitting = possible.filter(({ lifetime }) => lifetime === wanted)
  if (fitting.length > 0) return random.pick(fitting)
  return possible.length > 0 ? random.pick(possible) : undefined
}

const refsByPath = new WeakMap<readonly RecordRef[], Map<string, readonly RecordRef[]>>()

/** The records that the path can refer to, cached by path. */
function refsFor({ path, ids }: Operation, refs: readonly RecordRef[]): readonly RecordRef[] {
  const byPath = refsByPath.get(refs) ?? new Map<string, readonly RecordRef[]>()
  refsByPath.set(refs, byPath)
  const found = byPath.get(path) ?? refs.filter((ref) => isNamedBy(ids, ref))
  byPath.set(path, found)
  return found
}

function drawQuery({ query, path }: Operation, context: FuzzContext, random: Random): string[] {
  const required = query.filter(({ name }) => name === 'after' && path === '/v5/events')
  const isShort = query.length === 0 || random.chance(25)
  const common = query.filter(({ name }) => !name.startsWith('filter.'))
  const others = isShort
    ? []
    : [...random.pickSome(common, random.below(4)), ...random.pickSome(query, random.below(4))]
  const drawn = new Set([...required, ...others])
  return [...drawn].flatMap((parameter) => drawParameter(parameter, path, context, random))
}

/** `name=value`, once or several times. Cursors are rare, because few match a record of the list. */
function drawParameter(parameter: Parameter, path: string, context: FuzzContext, random: Random): string[] {
  const { name, schema } = parameter
  const { lexicon, cursors } = context.ours
  const pair = (value: string) => `${percentEncode(name)}=${percentEncode(value)}`
  if (name === 'startingAfter' || name === 'endingBefore') {
    const [, prefix = ''] = /\(([a-z]{3})_/.exec(String(schema.pattern)) ?? []
    const ids = [...(lexicon.ids.get(prefix) ?? []), cursors.get(path) ?? '']
    return random.chance(30) ? [pair(random.pick(ids))] : []
  }
  // Of the feed: a position that exists, and no longer than a response may take.
  if (name === 'after') return [pair(random.chance(90) ? 'start' : '3f9a1c07-184')]
  if (name === 'wait') return [pair(String(random.below(3)))]
  if (name === 'record') return [pair(random.pick([...lexicon.ids.values()].flat()))]
  if (schema.type === 'object') {
    const [examples] = (schema.examples ?? []) as Record<string, string>[]
    return Object.entries(examples ?? {}).map(([key, value]) => `${percentEncode(key)}=${percentEncode(value)}`)
  }
  if (schema.type === 'array') {
    const refsByPath = [...String((parameter as { description?: string }).description).matchAll(/`([\w.]+)`/g)]
    return random
      .pickSome(
        refsByPath.map(([, field]) => field ?? ''),
        1 + random.below(4),
      )
      .map(pair)
  }
  if (/[Ii]d\.\w+$/.test(name) && random.chance(80)) return [pair(random.pick([...lexicon.ids.values()].flat()))]
  if (name === 'orderBy') return [pair(String(random.pick((schema.examples ?? ['createdAt']) as string[])))]
  const value = valueOf(schema, random, lexicon)
  return [pair(value.kind === 'scalar' ? value.text.replace(/^"|"$/g, '') : textOf(schema, random, lexicon))]
}

/** Usually the key with all scopes, otherwise another valid credential. */
function drawCredential(operation: Operation, { ours, narrowKey, person }: FuzzContext, random: Random): string[] {
  // Many addresses behind the proxy of `settings`, so that the rate limits per address are not reached.
  const address = `X-Forwarded-For: 2001:db8:${random.below(50_000).toString(16)}::1`
  if (!operation.isSecured) return operation.path.startsWith('/auth') ? [address] : []
  const { organizationId, apiKey, accessToken } = ours.account
  if (operation.isAccount) {
    if (random.chance(94)) return [`Authorization: Bearer ${person.account.accessToken}`, address]
    return [`Authorization: Bearer ${apiKey}`, `Service-Organization-ID: ${organizationId}`]
  }
  const organization = `Service-Organization-ID: ${organizationId}`
  const kind = random.weighted({ key: 70, token: 12, 'token and organization': 8, narrow: 10 })
  if (kind === 'token') return [`Authorization: Bearer ${accessToken}`]
  const credential = { key: apiKey, narrow: narrowKey, 'token and organization': accessToken }[kind]
  return [`Authorization: Bearer ${credential}`, organization]
}

function drawHeaders({ headers, ids }: Operation, path: string, { learned }: FuzzContext, random: Random): string[] {
  return headers.flatMap(({ name }) => {
    if (!random.chance(name === 'If-Match' && ids.length > 0 ? 25 : 15)) return []
    // Few enough that they are reused, usually with a different request.
    if (name === 'Idempotency-Key') return [`${name}: key-${random.below(random.pick([20, 1_000_000]))}`]
    const tag = learned.tags.get(path) ?? '"1-AAAAAAAAAAAAAAAA"'
    return [`${name}: ${random.pick([tag, tag, '*', `"x", ${tag}`])}`]
  })
}

function addBody(draft: Draft, context: FuzzContext, random: Random): void {
  const { operation } = draft
  if (!operation.body || (!operation.body.required && random.chance(40))) {
    // A Content-Length of 0, as proxies send it.
    if (operation.method !== 'GET' && random.chance(20)) draft.framing = 'length'
    return
  }
  draft.body = drawBody(operation.name, operation.body, context, random)
  draft.framing = random.chance(90) ? 'length' : 'chunked'
  draft.headers.push(`Content-Type: ${random.pick(operation.body.types)}`)
}

/** Sometimes the document's example, so that the same body is sent again. */
function drawBody(
  name: string,
  { schema, example }: NonNullable<Operation['body']>,
  { learned, ours, person }: FuzzContext,
  random: Random,
): Json {
  const right = random.chance(60) ? validBody(name, person, learned.personState, random) : undefined
  if (right !== undefined) return piecesOf(right)
  return example !== undefined && random.chance(15) ? piecesOf(example) : valueOf(schema, random, ours.lexicon)
}
