import type { Draft } from './draft.ts'
import type { Operation, Parameter } from './document.ts'
import { isNamedBy, pathOf, type RecordRef, type Population } from './fixture.ts'
import { percentEncode } from './hostile.ts'
import { change } from './changes.ts'
import { type Json, piecesOf } from './json.ts'
import { type PersonState, personParams, type Person, validBody } from './person.ts'
import { Random } from './random.ts'
import { textOf, valueOf } from './values.ts'

/** All that requests are drawn from. */
export interface FuzzContext {
  operations: readonly Operation[]
  ours: Population
  theirs: Population
  /** Whose session and password are used, ended and changed. */
  person: Person
  narrowKey: string
  expiredKey: string
  /** What answers told: the ETag of a path, and what is the person's. */
  learned: { tags: Map<string, string>; personState: PersonState }
  seed: number
}

/** The request of that number: as the operation asks for it, then changed, or not. */
export function drawRequest(context: FuzzContext, number: number): Draft {
  const random = new Random(context.seed, number)
  const draft = validRequest(context, number, random)
  const changes = random.weighted({ 0: 30, 1: 45, 2: 17, 3: 8 })
  for (let count = Number(changes); count > 0; count--) change(draft, context, random)
  if (isTheirs(draft, context)) draft.headers = draft.headers.filter((line) => !/^authorization:/i.test(line))
  return draft
}

/**
 * Is it a request of the other organization's own? What it is told and does is then no fault: their credentials are
 * sent with our organization alone, and their imports' secrets with our imports.
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

/** A request that the operation takes, as far as the document tells. */
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

/** One after another; in every second round those with a body, or with many parameters, in the place of others. */
function drawOperation({ operations }: FuzzContext, number: number, random: Random): Operation {
  const one = operations[number % operations.length] ?? random.pick(operations)
  const other = random.pick(operations)
  const isSwapped = Math.floor(number / operations.length) % 2 === 1
  return isSwapped && !one.body && one.query.length < 10 && (other.body || other.query.length >= 10) ? other : one
}

const mayEndRecord = ({ method, path }: Operation) =>
  method === 'DELETE' || /\/(?:restore|disable|enable|rotate|revoke|block|cancel)$/.test(path)

/** A record for the path: for what may end one, a spent one. */
function drawRecord(operation: Operation, refs: readonly RecordRef[], random: Random): RecordRef | undefined {
  const endsRecord = mayEndRecord(operation)
  const wanted = endsRecord ? random.pick(['deleted', 'expendable']) : random.chance(85) ? 'stable' : 'expendable'
  const possible = refsFor(operation, refs).filter(({ lifetime }) => lifetime !== 'stable' || !endsRecord)
  const fitting = possible.filter(({ lifetime }) => lifetime === wanted)
  if (fitting.length > 0) return random.pick(fitting)
  return possible.length > 0 ? random.pick(possible) : undefined
}

const refsByPath = new WeakMap<readonly RecordRef[], Map<string, readonly RecordRef[]>>()

/** The records that the path can name, looked for once. */
function refsFor({ path, ids }: Operation, refs: readonly RecordRef[]): readonly RecordRef[] {
  const byPath = refsByPath.get(refs) ?? new Map<string, readonly RecordRef[]>()
  refsByPath.set(refs, byPath)
  const found = byPath.get(path) ?? refs.filter((ref) => isNamedBy(ids, ref))
  byPath.set(path, found)
  return found
}

function drawQuery({ query, path }: Operation, context: FuzzContext, random: Random): string[] {
  if (query.length === 0 || random.chance(25)) return []
  const common = query.filter(({ name }) => !name.startsWith('filter.'))
  const drawn = new Set(random.pickSome(common, random.below(4)).concat(random.pickSome(query, random.below(4))))
  return [...drawn].flatMap((parameter) => drawParameter(parameter, path, context, random))
}

/** `name=value`, once or more often. A cursor needs luck to name a record of the list: it comes seldom. */
function drawParameter(parameter: Parameter, path: string, context: FuzzContext, random: Random): string[] {
  const { name, schema } = parameter
  const { lexicon, cursors } = context.ours
  const pair = (value: string) => `${percentEncode(name)}=${percentEncode(value)}`
  if (name === 'startingAfter' || name === 'endingBefore') {
    const [, prefix = ''] = /\(([a-z]{3})_/.exec(String(schema.pattern)) ?? []
    const ids = [...(lexicon.ids.get(prefix) ?? []), cursors.get(path) ?? '']
    return random.chance(30) ? [pair(random.pick(ids))] : []
  }
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

/** Mostly the key of all scopes; else one of the other credentials that are good. */
function drawCredential(operation: Operation, { ours, narrowKey, person }: FuzzContext, random: Random): string[] {
  // Behind the proxy of `settings`, so that the few tries of an address are not over at once.
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
    // Few enough that they come back, with another request most of the time.
    if (name === 'Idempotency-Key') return [`${name}: key-${random.below(random.pick([20, 1_000_000]))}`]
    const tag = learned.tags.get(path) ?? '"1-AAAAAAAAAAAAAAAA"'
    return [`${name}: ${random.pick([tag, tag, '*', `"x", ${tag}`])}`]
  })
}

function addBody(draft: Draft, context: FuzzContext, random: Random): void {
  const { operation } = draft
  if (!operation.body || (!operation.body.required && random.chance(40))) {
    // A body of no length is none; proxies send one.
    if (operation.method !== 'GET' && random.chance(20)) draft.framing = 'length'
    return
  }
  draft.body = drawBody(operation.name, operation.body, context, random)
  draft.framing = random.chance(90) ? 'length' : 'chunked'
  draft.headers.push(`Content-Type: ${random.pick(operation.body.types)}`)
}

/** Now and then the document's example, so that the same is sent again. */
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
