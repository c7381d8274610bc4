import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { AuditAction } from '../audit/store.ts'
import type { Denials } from '../audit/denials.ts'
import type { Caller } from '../model/caller.ts'
import type { Secret } from '../secret/secret.ts'
import type { Connection, Database, Transaction } from '../database/database.ts'
import type { ConcurrencyLimiter } from '../background/concurrency-limiter.ts'
import type { CursorScope } from '../query/cursor.ts'
import type { BodyShape } from '../resource/body.ts'
import type { Resource } from '../model/define.ts'
import type { BodyFault } from '../model/errors.ts'
import type { JsonObject, JsonValue, Schema } from '../model/fields.ts'
import type { RequestContext } from './request-context.ts'
import type { Identifier } from './identifier.ts'
import type { QueryParameter } from '../query/query-string.ts'
import type { RateLimiter } from './rate-limit.ts'

/** What every route may use; made once, at start. Whoever needs more for its own routes adds it (`services.ts`). */
export interface Services {
  database: Database
  identifier: Identifier
  secret: Secret
  limiter: RateLimiter
  denials: Denials
  queryLimiter: ConcurrencyLimiter
  /** Signs the opaque cursors of `Link` headers. */
  cursorKey: Buffer
  /** What links in answers start with: the public address, else the one it listens on. */
  origin: string
  /** The origin that people log in at, where AUTH_ORIGIN or PUBLIC_URL says it; else it is the host that a caller names. */
  pageOrigin: string | undefined
  log: Logger
}

/** An answer before it is sent. `revision` makes a record's strong ETag; other texts get a weak one. */
export interface RouteResponse {
  status: number
  text?: string
  revision?: number
  headers?: Record<string, string>
  /** Values of `Set-Cookie`. */
  cookies?: readonly string[]
  /** Done when the transaction of a write route is committed; a repeated answer does nothing. */
  afterCommit?: () => void
  /** What the audit log tells of it, beyond what the request and the answer say. */
  effect?: Effect
}

/** What an audited request did; `none` when it turned out to change nothing, which is not told. */
export type Effect =
  | 'none'
  | {
      /** Names of the fields that changed; without it those that the body names. */
      fields?: readonly string[]
      details?: JsonObject
    }

/** Who is at the other end, as far as the connection and the headers say. */
export interface Client {
  readonly address: string
  readonly userAgent: string | null
  readonly requestId: string
  /** The `Origin` header: the page whose script asks. */
  readonly origin: string | undefined
  /** Where a browser was when it set out, `cross-site` for another site’s page (Fetch Metadata); undefined from programs. */
  readonly fetchSite: string | undefined
  /** The host, as the caller names it, with its scheme: what a page of ours has as its origin. */
  readonly requestOrigin: string
  /** Is it a browser that a person opens an address with? */
  readonly wantsPage: boolean
  cookie(name: string): string | undefined
}

export interface BaseRequest {
  services: Services
  client: Client
  /** The path's ids as uuids. */
  params: Record<string, string>
  query: readonly QueryParameter[]
  /** The target of the request as it was sent, with its query. */
  url: string
}

export interface ReadRequest extends BaseRequest {
  caller: Caller
  db: Connection
}

export interface WriteRequest<Body = JsonObject> extends BaseRequest {
  caller: Caller
  db: Transaction
  body: Body
  /** The revisions that If-Match allows; undefined when any will do. */
  revisions: readonly number[] | undefined
  /** True when nothing but what the route does is written in the transaction. */
  isSoleOperation: boolean
}

export interface PublicRequest<Body = JsonObject> extends BaseRequest {
  body: Body
}

/** What an answer's body is, for the OpenAPI document and for the tests that hold every answer against it. */
export type ResponseBody =
  | { kind: 'record'; resource: Resource }
  | { kind: 'list'; resource: Resource }
  /** `hasPage`: a browser gets the same as an HTML page. */
  | { kind: 'schema'; component: string; schema: Schema; hasPage?: true }
  /** For people and browsers: HTML, a script. */
  | { kind: 'text'; mediaType: string }
  | { kind: 'none' }

/** The prefix of the ids that the parameter takes, and of what; '' for a secret that stands in place of a credential. */
interface PathParameter {
  prefix: string
  resource: string
}

/** Parameters of its own, each once, with what it is for; `takesOthers` where another party adds what it likes. */
interface ParameterQuery {
  kind: 'parameters'
  parameters: Readonly<Record<string, string>>
  /** Values of those that have a form of their own. */
  examples?: Readonly<Record<string, string>>
  allowsOthers: boolean
}

interface RouteBase {
  /** With `{parameters}` in braces. */
  path: string
  /** Name of the operation in OpenAPI, unique. */
  operation: string
  summary: string
  description?: string
  /** Under which heading the documentation shows it. */
  tag: string
  params: Record<string, PathParameter>
  /** Which query parameters it takes: those of a list, of a count, of a change by filter, `select[]` alone, or none. */
  query: { kind: 'list' | 'count' | 'change' | 'one'; resource: Resource } | ParameterQuery | { kind: 'none' }
  responses: Record<number, ResponseBody>
  /** Error statuses that do not follow from the rest of the declaration. */
  errors?: readonly number[]
}

export interface ReadRoute extends RouteBase {
  kind: 'read'
  method: 'GET'
  /** `<resource>:<action>:read` */
  scope: string
  handle(request: ReadRequest): Promise<RouteResponse>
}

export interface WriteRoute<Body = JsonObject> extends RouteBase {
  kind: 'write'
  method: 'POST' | 'PATCH' | 'DELETE'
  /** `<resource>:<action>:write` */
  scope: string
  /** Members of the body; without it the route takes none. */
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
  /** Does the route heed If-Match? */
  supportsIfMatch: boolean
  /** What the audit log tells of its effect, in the effect's own transaction; without it nothing. */
  audited?: AuditAction
  /** Does it need a proof of the last five minutes, or an API key that was given the resource by name? */
  requiresRecentAuthentication?: boolean
  handle(request: WriteRequest<Body>): Promise<RouteResponse>
}

/** Answers the request in a way of its own, from the credential on. */
export type Serve = (
  services: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  requestContext: RequestContext,
) => Promise<RouteResponse>

/** A route about the caller's own account, whatever the organization: by access token, never by API key. */
export interface AccountRoute extends RouteBase {
  kind: 'account'
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  body?: { component: string; shape: BodyShape; required: boolean }
  query: { kind: 'none' }
  /** Does it need a proof of the last five minutes? */
  requiresRecentAuthentication?: boolean
  /** Does it stand on the host of AUTH_ORIGIN too, whose cookie it sets? */
  isOnBothHosts?: boolean
  serve: Serve
}

/** A route that needs no credential. */
export interface PublicRoute<Body = JsonObject> extends RouteBase {
  kind: 'public'
  method: 'GET' | 'POST'
  /** Which host serves it when AUTH_ORIGIN moves the authentication to its own. */
  host: 'api' | 'auth' | 'both'
  /** False for what is served although requests wait for the database. */
  needsDatabase?: false
  body?: { component: string; shape: BodyShape<Body>; required: boolean }
  /**
   * Finds what is wrong with the values beyond their form, so that a person who fills in a form hears of all faults at once.
   * `body` holds only the values whose form is right. Errors: what keeps the request from being served at all.
   */
  check?(request: PublicRequest): Promise<readonly BodyFault[]>
  handle(request: PublicRequest<Body>): Promise<RouteResponse>
}

/** A route whose credential stands in its path: other systems push at it. An Authorization header is not read. */
export interface PushRoute extends RouteBase {
  kind: 'push'
  method: 'POST'
  query: { kind: 'none' }
  payload: { component: string; schema: Schema; example: JsonValue }
  serve: Serve
}

/** A check of the process itself, on every host: no credential, no rate limit, query strings are ignored. */
export interface ProbeRoute extends RouteBase {
  kind: 'probe'
  method: 'GET'
  query: { kind: 'none' }
  status: string
  /** Error: 503. */
  check(services: Services, isReady: () => boolean): Promise<void>
}

/** A route whose handler gets the body in the types of the fields that its shape declares. */
export const writeRoute = <Body>(route: WriteRoute<Body>): WriteRoute => route as WriteRoute<never>

export type Route = ServedRoute | ProbeRoute

/** The routes that `serve` answers. */
export type ServedRoute = ReadRoute | WriteRoute | AccountRoute | PublicRoute | PushRoute

/** Does the route ask for a credential in the Authorization header, and for a scope? */
export const isScoped = (route: Route): route is ReadRoute | WriteRoute =>
  route.kind === 'read' || route.kind === 'write'

/** Does the route heed an Idempotency-Key? */
export const supportsIdempotencyKey = ({ kind }: Route): boolean => kind === 'push' || kind === 'write'

/** Does the route heed If-None-Match? */
export const isCacheable = (route: Route): boolean => route.method === 'GET' && route.kind !== 'probe'

/** The scope that a list's cursors are bound to. */
export const cursorScope =
  (services: Services, caller: Caller, resource: Resource, parentId: string | undefined) =>
  (orderBy: string): CursorScope => ({
    key: services.cursorKey,
    organizationId: caller.organizationId,
    list: parentId === undefined ? resource.component : `${resource.component} ${parentId}`,
    orderBy,
  })
