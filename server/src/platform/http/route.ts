import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { AuditAction } from '../audit/store.ts'
import type { Denials } from '../audit/denials.ts'
import type { Caller } from '../model/caller.ts'
import type { Secret } from '../secret/secret.ts'
import type { Connection, Database, Transaction } from '../database/database.ts'
import type { ConcurrencyLimiter } from '../background/concurrency-limiter.ts'
import type { CursorScope } from '../records/page/cursor.ts'
import type { Relations } from '../records/declare/relations.ts'
import type { SavedViews } from '../records/page/view.ts'
import type { BodyShape } from '../records/request/body.ts'
import type { Resource } from '../records/declare/define.ts'
import type { ApiError, BodyError } from '../model/errors.ts'
import type { BodyBudget, BodyReservation } from './limits/body-budget.ts'
import type { FixedText } from './protocol/fixed-text.ts'
import type { Identifier } from './protocol/identifier.ts'
import type { QueryParameter } from '../records/request/query-string.ts'
import type { RateKind, RateLimiter } from './limits/rate-limit.ts'
import type { JsonObject, JsonValue, Schema } from '../model/json.ts'

/** What every route may use; created once, at start. Routes that need more extend it (`services.ts`). */
export interface Services {
  database: Database
  identifier: Identifier
  secret: Secret
  limiter: RateLimiter
  denials: Denials
  queryLimiter: ConcurrencyLimiter
  /** Does a session of the database block changes? */
  areChangesWaiting: () => boolean
  /** The relations between records that a search can use. */
  relations: Relations
  views: SavedViews
  /** The time zone of the caller's organization. */
  timeZone(db: Connection): Promise<string>
  /** Signs the opaque cursors in `Link` headers. */
  cursorKey: Buffer
  /** The base of links in responses: the public URL, otherwise the address the service listens on. */
  origin: string
  /** The origin where people log in, from AUTH_ORIGIN or PUBLIC_URL; if undefined, it is the requested host. */
  pageOrigin: string | undefined
  log: Logger
}

/** A response before it is sent. With a `revision` it gets a record's strong ETag, otherwise a weak one. */
export interface RouteResponse {
  status: number
  text?: string
  /** Instead of `text`, with an ETag in `headers`. */
  fixedText?: FixedText
  /** Instead of `text`: sent as it comes, until it ends or the client leaves, which destroys it. */
  stream?: Readable
  /** Milliseconds of waiting for something to happen, which do not count as the duration of the request. */
  waited?: number
  revision?: number
  headers?: Record<string, string>
  /** Values of `Set-Cookie`. */
  cookies?: readonly string[]
  /** Called after the transaction of a write route has committed, but not for a replayed response. */
  afterCommit?: () => void
  /** Details for the audit log that the request and the response do not show. */
  effect?: Effect
}

/** What an audited request did; `none` if it changed nothing, which is not recorded. */
export type Effect =
  | 'none'
  | {
      /** Names of the changed fields; by default those in the body. */
      fields?: readonly string[]
      details?: JsonObject
    }

export interface Client {
  readonly address: string
  readonly userAgent: string | null
  readonly requestId: string
  /** The `Origin` header: the page whose script sent the request. */
  readonly origin: string | undefined
  /** The `Sec-Fetch-Site` header, such as `cross-site` (Fetch Metadata); undefined for programs. */
  readonly fetchSite: string | undefined
  /** Scheme and requested host: the origin of our own pages. */
  readonly requestOrigin: string
  /** The `Last-Event-ID` header of a client that continues a stream. */
  readonly lastEventId: string | undefined
  /** Is it a browser in which a person opens a URL? */
  readonly wantsPage: boolean
  cookie(name: string): string | undefined
}

export interface BaseRequest {
  services: Services
  client: Client
  /** The ids in the path, as uuids. */
  params: Record<string, string>
  query: readonly QueryParameter[]
  /** The request target as sent, including the query. */
  url: string
}

export interface ReadRequest extends BaseRequest {
  caller: Caller
  db: Connection
}

export interface SearchRequest extends ReadRequest {
  body: JsonValue
}

export interface WriteRequest<Body = JsonObject> extends BaseRequest {
  caller: Caller
  db: Transaction
  body: Body
  /** The revisions that If-Match allows; undefined if any is allowed. */
  revisions: readonly number[] | undefined
  /** True if the transaction contains nothing but what the route does. */
  isSoleOperation: boolean
}

export interface PublicRequest<Body = JsonObject> extends BaseRequest {
  body: Body
}

/** The body of a response, for the OpenAPI document and for the tests that check every response against it. */
export type ResponseBody =
  | { kind: 'record'; resource: Resource }
  | { kind: 'list'; resource: Resource }
  /** `hasPage`: browsers get the same as an HTML page. */
  | { kind: 'schema'; component: string; schema: Schema; hasPage?: true }
  /** For people and browsers: HTML or a script. */
  | { kind: 'text'; mediaType: string }
  | { kind: 'none' }

/** The id prefix and resource of the parameter; the prefix is '' for a secret that replaces a credential. */
interface PathParameter {
  prefix: string
  resource: string
}

/** Declared parameters with their descriptions, each allowed once; `allowsOthers` if another party adds its own. */
interface ParameterQuery {
  kind: 'parameters'
  parameters: Readonly<Record<string, string>>
  /** Those without which the request is refused, by the route itself. */
  required?: readonly string[]
  /** Example values of parameters with a special format. */
  examples?: Readonly<Record<string, string>>
  allowsOthers: boolean
}

/** The page parameters of an array that the route has in memory; `item` is the schema of its items. */
interface ArrayQuery {
  kind: 'array'
  item: Schema
}

interface RouteBase {
  /** With `{parameters}` in braces. */
  path: string
  /** The unique operation id in OpenAPI. */
  operation: string
  summary: string
  description?: string
  /** The documentation heading of the route. */
  tag: string
  params: Record<string, PathParameter>
  /** Those of a list, a count or a change by filter, only `select[]` (`one`), of an array, declared ones, or none. */
  query:
    | { kind: 'list' | 'count' | 'change' | 'one'; resource: Resource; pages?: ArrayQuery }
    | ArrayQuery
    | ParameterQuery
    | { kind: 'none' }
  responses: Record<number, ResponseBody>
  /** Error statuses that do not follow from the rest of the declaration. */
  errors?: readonly number[]
}

export interface ReadRoute extends RouteBase {
  kind: 'read'
  method: 'GET'
  /** `<resource>:<action>:read` */
  scope: string
  /** Does it require re-authentication within the last five minutes, or an API key whose scope names the resource? */
  requiresRecentAuthentication?: boolean
  handle(request: ReadRequest): Promise<RouteResponse>
}

/** A list or a count whose filter is the body. It is a read in every other respect, so it can be repeated. */
export interface SearchRoute extends RouteBase {
  kind: 'search'
  method: 'POST'
  /** `<resource>:<action>:read`; each relation in the filter needs that of the other resource's list. */
  scope: string
  /** `page`: it returns a page of records, otherwise their count. */
  search: { resource: Resource; returns: 'page' | 'count' }
  handle(request: SearchRequest): Promise<RouteResponse>
}

export interface WriteRoute<Body = JsonObject> extends RouteBase {
  kind: 'write'
  method: 'POST' | 'PATCH' | 'DELETE'
  /** `<resource>:<action>:write` */
  scope: string
  /** The body; without it the route has none. */
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
  supportsIfMatch: boolean
  /** The action to record in the audit log, in the transaction of the effect; without it nothing is recorded. */
  audited?: AuditAction
  /** Does it require re-authentication within the last five minutes, or an API key whose scope names the resource? */
  requiresRecentAuthentication?: boolean
  handle(request: WriteRequest<Body>): Promise<RouteResponse>
}

/** What is known about a request while it is processed; its log line is built from this. */
export interface RequestContext {
  route: string
  /** Does the path contain the credential? */
  isPush?: boolean
  credential?: string
  organization?: string
  /** Called once it is known in whose turn requests with this credential are started: an organization or a person. */
  setTenant: (tenantKey: string) => void
  /** The charged bucket, so that a 304 can be refunded. */
  charged?: { kind: RateKind; key: string }
  /** Shared by the bodies of all requests. */
  budget: BodyBudget
  /** This request's share of the budget. */
  bodyReservation?: BodyReservation
  /** The beginning of a body that was too large. */
  beginning?: Buffer
  /** The body; the stream can only be read once. */
  bytes?: Uint8Array
  streamedAt?: number
  waited?: number
}

/** A request, its response, and what is known about it so far. */
export interface Exchange {
  services: Services
  request: FastifyRequest
  reply: FastifyReply
  requestContext: RequestContext
}

/** What a request contains, read after it was let in. */
export interface Content extends Pick<BaseRequest, 'url' | 'query' | 'params'> {
  /** The revisions that If-Match allows; undefined if any is allowed. */
  revisions: readonly number[] | undefined
  idempotencyKey: string | undefined
  /** The declared fields of the body; `{}` without them. */
  body: JsonObject
  /** The body as sent. */
  sent: JsonValue
}

/** A request that was let in: its credential is valid, within its rate limit, and sufficient for the route. */
export interface Entrance {
  /** Does what the request asks for. */
  run(content: Content): Promise<RouteResponse>
  /** What to report instead of an error since then. */
  reasonFor?(error: unknown): Promise<unknown>
}

export type Enter = (exchange: Exchange) => Promise<Entrance>

/** A route about the caller's own account, or what they have in one organization; accepts access tokens but no API keys. */
export interface AccountRoute extends RouteBase {
  kind: 'account'
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  body?: { component: string; shape: BodyShape; required: boolean }
  query: ArrayQuery | ParameterQuery | { kind: 'none' }
  /** Does it require re-authentication within the last five minutes? */
  requiresRecentAuthentication?: boolean
  /** Is it served on the host of AUTH_ORIGIN too, whose cookie it sets? */
  isOnBothHosts?: boolean
  enter: Enter
}

/** A route that needs no credential. */
export interface PublicRoute<Body = JsonObject> extends RouteBase {
  kind: 'public'
  method: 'GET' | 'POST'
  /** Which host serves it if AUTH_ORIGIN moves authentication to a separate one. */
  host: 'api' | 'auth' | 'both'
  /** False for routes that are served even while requests wait for the database. */
  needsDatabase?: false
  /** Do browsers get the web application instead? */
  hasWebPage?: true
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
  /** Checks the well-formed values, so that a form shows all errors at once. Throws if it cannot be served. */
  check?(request: PublicRequest): Promise<readonly BodyError[]>
  handle(request: PublicRequest<Body>): Promise<RouteResponse>
}

/** A route whose path contains the credential: other systems push data to it. Ignores the Authorization header. */
export interface PushRoute extends RouteBase {
  kind: 'push'
  method: 'POST'
  query: { kind: 'none' }
  payload: { component: string; schema: Schema; example: JsonValue }
  /** What to do instead of another method. */
  usage: string
  enter: Enter
  /** Called after the service has decided on an error response. */
  refused(services: Services, request: FastifyRequest, error: ApiError): void
}

/** A health check on every host: no credential, no rate limit; query strings are ignored. */
export interface ProbeRoute extends RouteBase {
  kind: 'probe'
  method: 'GET'
  query: { kind: 'none' }
  status: string
  /** Throws 503. Resolves to what the response contains in addition to its status. */
  check(services: Services, isReady: () => boolean): Promise<JsonObject>
}

/** A route whose handler gets the body with the types that its shape declares. */
export const writeRoute = <Body>(route: WriteRoute<Body>): WriteRoute => route as WriteRoute<never>

export type Route = ServedRoute | ProbeRoute

/** The routes that `serve` handles. */
export type ServedRoute = ScopedRoute | AccountRoute | PublicRoute | PushRoute

/** The routes that act for an organization. */
export type ScopedRoute = ReadRoute | SearchRoute | WriteRoute

/** Does the route require a credential in the Authorization header and a scope? */
export const isScoped = (route: Route): route is ScopedRoute =>
  route.kind === 'read' || route.kind === 'search' || route.kind === 'write'

/** The resources that have a list, with a view for each list. */
export const listedResources = (routes: readonly Route[]): readonly Resource[] =>
  routes.flatMap(({ query }) => (query.kind === 'list' ? [query.resource] : []))

export const supportsIdempotencyKey = ({ kind }: Route): boolean => kind === 'push' || kind === 'write'

/** Does the route support If-None-Match? */
export const isCacheable = (route: Route): boolean => route.method === 'GET' && route.kind !== 'probe'

/** A page has a single URL, because links within it are relative: with a trailing slash, it redirects. */
export const isPage = ({ responses }: Route): boolean => Object.values(responses).some(({ kind }) => kind === 'text')

/** The scope to which a list's cursors are bound. */
export const cursorScope =
  (services: Services, caller: Caller, resource: Resource, parentId: string | undefined) =>
  (orderBy: string, deleted: boolean): CursorScope => ({
    key: services.cursorKey,
    organizationId: caller.organizationId,
    list: [resource.component, ...(parentId === undefined ? [] : [parentId]), ...(deleted ? ['deleted'] : [])].join(
      ' ',
    ),
    orderBy,
  })
