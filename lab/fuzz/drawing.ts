import type { Draft } from './draft.ts'
import type { Operation, Parameter } from './document.ts'
import { isNamedBy, pathOf, type Place, type Population } from './fixture.ts'
import { encoded } from './hostile.ts'
import { change } from './changes.ts'
import { type Json, piecesOf } from './json.ts'
import { type Belongings, ownParams, type Person, rightBody } from './person.ts'
import { Random } from './random.ts'
import { textOf, valueOf } from './values.ts'

/** All that requests are drawn from. */
export interface World {
  operations: readonly Operation[]
  ours: Population
  theirs: Population
  /** Whose session and password are used, ended and changed. */
  person: Person
  narrowKey: string
  expiredKey: string
  /** What answers told: the ETag of a path, and what is the person's. */
  learned: { tags: Map<string, string>; own: Belongings }
  seed: number
}

/** The request of that number: as the operation asks for it, then changed, or not. */
export function drawRequest(world: World, number: number): Draft {
  const random = new Random(world.seed, number)
  const draft = fitting(world, number, random)
  const changes = random.weighted({ 0: 30, 1: 45, 2: 17, 3: 8 })
  for (let count = Number(changes); count > 0; count--) change(draft, world, random)
  if (isTheirs(draft, world)) draft.headers = draft.headers.filter((line) => !/^authorization:/i.test(line))
  return draft
}

/**
 * Is it a request of the other organization's own? What it is told and does is then no fault: their credentials are
 * sent with our organization alone, and their imports' secrets with our imports.
 */
export function isTheirs({ headers, path }: Draft, { ours, theirs }: World): boolean {
  const { apiKey, accessToken, organizationId } = theirs.account
  const isOurs = headers.includes(`Service-Organization-ID: ${ours.account.organizationId}`)
  const hasTheirs = headers.some((line) => line.includes(apiKey) || line.includes(accessToken))
  const pushes = theirs.places.some(
    ({ params }) =>
      params.hash !== undefined && path.includes(params.hash) && path.includes(params.importId ?? organizationId),
  )
  return (hasTheirs && !isOurs) || pushes
}

/** A request that the operation takes, as far as the document tells. */
function fitting(world: World, number: number, random: Random): Draft {
  const operation = drawOperation(world, number, random)
  const params = operation.isAccount
    ? ownParams(world.learned.own, random)
    : drawPlace(operation, world.ours.places, random)?.params
  const path = pathOf(operation.path, params ?? {})
  const draft: Draft = {
    number,
    operation,
    method: operation.method,
    path,
    query: drawQuery(operation, world, random),
    headers: [...drawCredential(operation, world, random), ...drawHeaders(operation, path, world, random)],
    body: undefined,
    framing: 'none',
    version: 'HTTP/1.1',
    lineEnd: '\r\n',
    changes: [],
  }
  addBody(draft, world, random)
  return draft
}

/** One after another; in every second round those with a body, or with many parameters, in the place of others. */
function drawOperation({ operations }: World, number: number, random: Random): Operation {
  const one = operations[number % operations.length] ?? random.one(operations)
  const other = random.one(operations)
  const isSwapped = Math.floor(number / operations.length) % 2 === 1
  return isSwapped && !one.body && one.query.length < 10 && (other.body || other.query.length >= 10) ? other : one
}

const isSpending = ({ method, path }: Operation) =>
  method === 'DELETE' || /\/(?:restore|disable|enable|rotate|revoke|block|cancel)$/.test(path)

/** A record for the path: for what may end one, a spent one. */
function drawPlace(operation: Operation, places: readonly Place[], random: Random): Place | undefined {
  const spends = isSpending(operation)
  const wanted = spends ? random.one(['deleted', 'spent']) : random.chance(85) ? 'kept' : 'spent'
  const possible = placesOf(operation, places).filter(({ use }) => use !== 'kept' || !spends)
  const fitting = possible.filter(({ use }) => use === wanted)
  if (fitting.length > 0) return random.one(fitting)
  return possible.length > 0 ? random.one(possible) : undefined
}

const known = new WeakMap<readonly Place[], Map<string, readonly Place[]>>()

/** The records that the path can name, looked for once. */
function placesOf({ path, ids }: Operation, places: readonly Place[]): readonly Place[] {
  const byPath = known.get(places) ?? new Map<string, readonly Place[]>()
  known.set(places, byPath)
  const found = byPath.get(path) ?? places.filter((place) => isNamedBy(ids, place))
  byPath.set(path, found)
  return found
}

function drawQuery({ query, path }: Operation, world: World, random: Random): string[] {
  if (query.length === 0 || random.chance(25)) return []
  const common = query.filter(({ name }) => !name.startsWith('filter.'))
  const drawn = new Set(random.some(common, random.below(4)).concat(random.some(query, random.below(4))))
  return [...drawn].flatMap((parameter) => drawParameter(parameter, path, world, random))
}

/** `name=value`, once or more often. A cursor needs luck to name a record of the list: it comes seldom. */
function drawParameter(parameter: Parameter, path: string, world: World, random: Random): string[] {
  const { name, schema } = parameter
  const { lexicon, cursors } = world.ours
  const pair = (value: string) => `${encoded(name)}=${encoded(value)}`
  if (name === 'startingAfter' || name === 'endingBefore') {
    const [, prefix = ''] = /\(([a-z]{3})_/.exec(String(schema.pattern)) ?? []
    const ids = [...(lexicon.ids.get(prefix) ?? []), cursors.get(path) ?? '']
    return random.chance(30) ? [pair(random.one(ids))] : []
  }
  if (schema.type === 'object') {
    const [examples] = (schema.examples ?? []) as Record<string, string>[]
    return Object.entries(examples ?? {}).map(([key, value]) => `${encoded(key)}=${encoded(value)}`)
  }
  if (schema.type === 'array') {
    const known = [...String((parameter as { description?: string }).description).matchAll(/`([\w.]+)`/g)]
    return random
      .some(
        known.map(([, field]) => field ?? ''),
        1 + random.below(4),
      )
      .map(pair)
  }
  if (/[Ii]d\.\w+$/.test(name) && random.chance(80)) return [pair(random.one([...lexicon.ids.values()].flat()))]
  if (name === 'orderBy') return [pair(String(random.one((schema.examples ?? ['createdAt']) as string[])))]
  const value = valueOf(schema, random, lexicon)
  return [pair(value.kind === 'scalar' ? value.text.replace(/^"|"$/g, '') : textOf(schema, random, lexicon))]
}

/** Mostly the key of all scopes; else one of the other credentials that are good. */
function drawCredential(operation: Operation, { ours, narrowKey, person }: World, random: Random): string[] {
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

function drawHeaders({ headers, ids }: Operation, path: string, { learned }: World, random: Random): string[] {
  return headers.flatMap(({ name }) => {
    if (!random.chance(name === 'If-Match' && ids.length > 0 ? 25 : 15)) return []
    // Few enough that they come back, with another request most of the time.
    if (name === 'Idempotency-Key') return [`${name}: key-${random.below(random.one([20, 1_000_000]))}`]
    const tag = learned.tags.get(path) ?? '"1-AAAAAAAAAAAAAAAA"'
    return [`${name}: ${random.one([tag, tag, '*', `"x", ${tag}`])}`]
  })
}

function addBody(draft: Draft, world: World, random: Random): void {
  const { operation } = draft
  if (!operation.body || (!operation.body.required && random.chance(40))) {
    // A body of no length is none; proxies send one.
    if (operation.method !== 'GET' && random.chance(20)) draft.framing = 'length'
    return
  }
  draft.body = drawBody(operation.name, operation.body, world, random)
  draft.framing = random.chance(90) ? 'length' : 'chunked'
  draft.headers.push(`Content-Type: ${random.one(operation.body.types)}`)
}

/** Now and then the document's example, so that the same is sent again. */
function drawBody(
  name: string,
  { schema, example }: NonNullable<Operation['body']>,
  { learned, ours, person }: World,
  random: Random,
): Json {
  const right = random.chance(60) ? rightBody(name, person, learned.own, random) : undefined
  if (right !== undefined) return piecesOf(right)
  return example !== undefined && random.chance(15) ? piecesOf(example) : valueOf(schema, random, ours.lexicon)
}
