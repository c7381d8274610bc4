import type { Logger } from 'pino'
import type { Caller } from '../access/caller.ts'
import type { Identifier } from '../access/identify.ts'
import type { Secret } from '../access/secret.ts'
import type { Sessions } from '../access/sessions.ts'
import type { Tokens } from '../access/tokens.ts'
import type { Connection, Database, Transaction } from '../database/database.ts'
import type { Gate } from '../query/gate.ts'
import type { CursorScope } from '../query/cursor.ts'
import type { BodyShape } from '../resource/body.ts'
import type { AnyRow, Resource } from '../resource/define.ts'
import type { JsonValue, Schema } from '../resource/fields.ts'
import type { Intake, PushKey, Trigger } from './push.ts'
import type { QueryParameter } from './query-string.ts'
import type { RateLimiter } from './rate-limit.ts'

/** What every route may use; made once, at start. */
export interface Services {
  database: Database
  identifier: Identifier
  sessions: Sessions
  tokens: Tokens
  secret: Secret
  limiter: RateLimiter
  gate: Gate
  intake: Intake
  /** Signs the opaque cursors of `Link` headers. */
  cursorKey: Buffer
  /** The origin that links in answers start with. */
  origin: string
  log: Logger
}

/** An answer before it is sent. `revision` makes a record's strong ETag; other texts get a weak one. */
export interface Answer {
  status: number
  text?: string
  revision?: number
  headers?: Record<string, string>
}

interface BaseRequest {
  services: Services
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

export interface WriteRequest extends BaseRequest {
  caller: Caller
  db: Transaction
  body: AnyRow
  /** The revisions that If-Match allows; undefined when any will do. */
  revisions: readonly number[] | undefined
}

export interface PublicRequest extends BaseRequest {
  body: AnyRow
}

/** A push whose path opened an import; its body is not read yet. */
export interface PushRequest {
  services: Services
  trigger: Trigger
  query: readonly QueryParameter[]
  bytes: Uint8Array
  key: PushKey | undefined
}

/** What an answer's body is, for the OpenAPI document and for the tests that hold every answer against it. */
export type AnswerBody =
  | { kind: 'record'; resource: Resource }
  | { kind: 'list'; resource: Resource }
  | { kind: 'schema'; component: string; schema: Schema }
  /** For people and browsers: HTML, a script. */
  | { kind: 'text'; mediaType: string }
  | { kind: 'none' }

/** The prefix of the ids that the parameter takes, and of what; '' for a secret that stands in place of a credential. */
interface PathParameter {
  prefix: string
  resource: string
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
  query: { kind: 'list' | 'count' | 'change' | 'one'; resource: Resource } | { kind: 'none' }
  answers: Record<number, AnswerBody>
  /** Error statuses that do not follow from the rest of the declaration. */
  errors?: readonly number[]
}

export interface ReadRoute extends RouteBase {
  kind: 'read'
  method: 'GET'
  /** `<resource>:<action>:read` */
  scope: string
  handle(request: ReadRequest): Promise<Answer>
}

export interface WriteRoute extends RouteBase {
  kind: 'write'
  method: 'POST' | 'PATCH' | 'DELETE'
  /** `<resource>:<action>:write` */
  scope: string
  /** Members of the body; without it the route takes none. */
  body?: { component: string; shape: BodyShape; required: boolean }
  /** Does the route heed If-Match? */
  conditional: boolean
  handle(request: WriteRequest): Promise<Answer>
}

/** A route that needs no credential. */
export interface PublicRoute extends RouteBase {
  kind: 'public'
  method: 'GET' | 'POST'
  /** Which host it stands on when AUTH_ORIGIN moves the authentication to its own. */
  host: 'api' | 'auth'
  body?: { component: string; shape: BodyShape; required: boolean }
  handle(request: PublicRequest): Promise<Answer>
}

/** A route whose credential stands in its path, `importId` with the secret `hash`: other systems push at it. An Authorization header is not read. */
export interface PushRoute extends RouteBase {
  kind: 'push'
  method: 'POST'
  query: { kind: 'none' }
  payload: { component: string; schema: Schema; example: JsonValue }
  handle(request: PushRequest): Promise<Answer>
}

export type Route = ReadRoute | WriteRoute | PublicRoute | PushRoute

/** Does the route ask for a credential in the Authorization header, and for a scope? */
export const isScoped = (route: Route): route is ReadRoute | WriteRoute =>
  route.kind === 'read' || route.kind === 'write'

/** Does the route heed an Idempotency-Key? */
export const takesKey = (route: Route): boolean =>
  route.kind === 'push' || (route.kind === 'write' && route.method !== 'DELETE')

/** The scope that a list's cursors are bound to. */
export const cursorScope =
  (services: Services, caller: Caller, resource: Resource, parentId: string | undefined) =>
  (orderBy: string): CursorScope => ({
    key: services.cursorKey,
    organizationId: caller.organizationId,
    list: parentId === undefined ? resource.component : `${resource.component} ${parentId}`,
    orderBy,
  })
