import createClient from 'openapi-fetch'
import { followDeletion, noSuchRecord, readUnlessDeleted } from './deletions.ts'
import { ApiError } from './error.ts'
import type { components, paths } from './openapi.d.ts'
import { rememberWrite } from './own-writes.ts'
import { accessToken, apiOrigin, authorizedFetch, continueSession, type Tokens, withSessionLock } from './session.ts'

/** The schemas of openapi.json by name. */
export type Schemas = components['schemas']

/** The type of a record that a request reads without `select[]`: every property is present. */
export type Whole<Selection> = Selection extends readonly (infer Item)[]
  ? Whole<Item>[]
  : Selection extends object
    ? { [Name in keyof Selection]-?: Whole<Selection[Name]> }
    : Selection

/** The public API, typed by its OpenAPI document. Error responses are thrown as `ApiError`. */
export const api = createClient<paths>({ baseUrl: apiOrigin, fetch: authorizedFetch })

api.use({
  async onResponse({ response }) {
    if (!response.ok) throw await refusalOf(response)
  },
})

/** The body of a response that always has one. */
export async function dataOf<T>(answer: Promise<{ data?: T }>): Promise<T> {
  const { data } = await answer
  if (data === undefined) throw new ApiError(200, undefined, undefined)
  return data
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

interface SendOptions {
  query?: URLSearchParams
  body?: unknown
  /** The entity tag that the record must still have. */
  ifMatch?: string
  /** Makes a repeated POST take effect once. */
  idempotencyKey?: string
  signal?: AbortSignal
  /** The read with which a change begins: counts as a part of it. */
  precedesChange?: boolean
}

export interface Answer<T> {
  body: T
  etag: string | undefined
  link: string | undefined
}

/**
 * The URL of an API path. The ids in it come from the page's URL, which anybody can craft and send as a link: an id
 * such as `../imports/imp_1/rotate#` must not lead to another route.
 */
function addressOf(path: string, query?: URLSearchParams): string {
  if (!/^(?:\/[\w-]+)+$/.test(path)) throw new ApiError(404, noSuchRecord, undefined)
  return `${apiOrigin}${path}${query && query.size > 0 ? `?${query}` : ''}`
}

/** Changes that were sent and have no response yet. */
export const unanswered = new Set<Promise<unknown>>()

/** Calls a path that is known only from the schema of the resources; throws `ApiError` if the request is refused. */
export function send<T>(method: Method, path: string, options: SendOptions = {}): Promise<Answer<T>> {
  const answer =
    method === 'GET'
      ? readUnlessDeleted(path, options.signal, (signal) => request<T>(method, path, { ...options, signal }))
      : request<T>(method, path, options)
  const isChange = isWrite(method, path)
  if (isChange) followDeletion(method, path, answer)
  if (isChange || options.precedesChange === true) {
    unanswered.add(answer)
    const forget = () => void unanswered.delete(answer)
    answer.then(forget, forget)
  }
  return answer
}

async function request<T>(method: Method, path: string, options: SendOptions): Promise<Answer<T>> {
  const { query, body, ifMatch, idempotencyKey, signal } = options
  const response = await authorizedFetch(
    new Request(addressOf(path, query), {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    }),
  )
  if (!response.ok) throw await refusalOf(response)
  const text = await response.text()
  const answer: Answer<T> = {
    body: (text === '' ? undefined : JSON.parse(text)) as T,
    etag: response.headers.get('etag') ?? undefined,
    link: response.headers.get('link') ?? undefined,
  }
  if (isWrite(method, path)) rememberWrite(path, answer.body, answer.etag)
  return answer
}

const isWrite = (method: Method, path: string): boolean => method !== 'GET' && !path.includes('/search')

/** Fetches all pages of a list; only for lists that are always short. `body`: a search. */
export async function sendAll<T>(path: string, options: Pick<SendOptions, 'query' | 'body'> = {}): Promise<T[]> {
  const all: T[] = []
  for (let cursor: string | undefined; ;) {
    const query = new URLSearchParams(options.query)
    query.set('limit', '100')
    if (cursor !== undefined) query.set('startingAfter', cursor)
    const method = options.body === undefined ? 'GET' : 'POST'
    const { body, link } = await send<T[]>(method, path, { ...options, query })
    all.push(...body)
    cursor = nextCursor(link)
    if (cursor === undefined) return all
  }
}

/** The cursor of the next page, from a list's `Link` header. */
export function nextCursor(link: string | undefined): string | undefined {
  const url = /<([^>]+)>; rel="next"/.exec(link ?? '')?.[1]
  return url === undefined ? undefined : (new URL(url).searchParams.get('startingAfter') ?? undefined)
}

/** Polls a path cheaply: the service answers 304 if nothing has changed since `previous`. */
export const readIfChanged = <T>(
  path: string,
  query: URLSearchParams,
  previous: Answer<T> | undefined,
  whole: AbortSignal,
): Promise<Answer<T>> =>
  readUnlessDeleted(path, whole, async (signal) => {
    const headers = new Headers(previous?.etag === undefined ? {} : { 'if-none-match': previous.etag })
    const response = await authorizedFetch(new Request(addressOf(path, query), { headers, signal }))
    if (response.status === 304 && previous) return previous
    if (!response.ok) throw await refusalOf(response)
    return {
      body: (await response.json()) as T,
      etag: response.headers.get('etag') ?? undefined,
      link: response.headers.get('link') ?? undefined,
    }
  })

/** Calls a route that needs no credential, on this page's own host, where its cookies are. */
export const sendPublic = <T>(path: string, body?: unknown): Promise<T> => sendToOwnHost(path, body, {})

/** Re-authenticates the person: replaces this browser's session, its cookie and its access token. */
export async function renewSession(path: string, proof: object): Promise<void> {
  const authorization = `Bearer ${await accessToken()}`
  const body = { ...proof, cookie: true }
  continueSession(await withSessionLock(() => sendToOwnHost<Tokens>(path, body, { authorization })))
}

async function sendToOwnHost<T>(path: string, body: unknown, headers: Record<string, string>): Promise<T> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw await errorOf(response)
  const text = await response.text()
  return (text === '' ? undefined : JSON.parse(text)) as T
}

let onDenied: () => void = () => undefined

/**
 * Called when the service refuses something that this page offered: the person's role may have changed, or they were
 * removed.
 */
export function whenDenied(handler: () => void): void {
  onDenied = handler
}

const denials: readonly string[] = ['insufficient_permissions', 'missing_scopes', 'second_factor_required']

async function refusalOf(response: Response): Promise<ApiError> {
  const error = await errorOf(response)
  if (denials.includes(error.code)) onDenied()
  return error
}

let prepare: () => Promise<void> = () => Promise.resolve()

/** Called before the first refusal is thrown; loads the translations of error messages. */
export function beforeRefusals(load: () => Promise<void>): void {
  let loading: Promise<void> | undefined
  // Without translations, error messages stay in the service's English.
  prepare = () => (loading ??= load().catch(() => void (loading = undefined)))
}

async function errorOf(response: Response): Promise<ApiError> {
  await prepare()
  const body: unknown = await response.json().catch(() => undefined)
  return new ApiError(response.status, body, response.headers.get('x-request-id') ?? undefined)
}
