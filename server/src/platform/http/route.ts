import type { Logger } from 'pino'
import type { AuditAction } from '../audit/actions.ts'
import type { Denials } from '../audit/denials.ts'
import type { Caller } from '../access/caller.ts'
import type { Identifier } from '../access/identify.ts'
import type { Secret } from '../access/secret.ts'
import type { Sessions } from '../access/sessions.ts'
import type { Throttle } from '../access/throttle.ts'
import type { Tokens } from '../access/tokens.ts'
import type { Connection, Database, Spanning, Transaction } from '../database/database.ts'
import type { Egress } from '../egress/egress.ts'
import type { Gate } from '../query/gate.ts'
import type { CursorScope } from '../query/cursor.ts'
import type { BodyShape } from '../resource/body.ts'
import type { AnyRow, Resource } from '../resource/define.ts'
import type { JsonObject, JsonValue, Schema } from '../resource/fields.ts'
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
  denials: Denials
  throttle: Throttle
  gate: Gate
  /** The one way out to addresses that somebody else chose. */
  egress: Egress
  /** Who may make an account: anyone, who was invited, nobody. */
  signUp: 'open' | 'invite' | 'closed'
  intake: Intake
  /** To be woken once a mail that was queued is committed. */
  mail: { wake(): void }
  /** Signs the opaque cursors of `Link` headers. */
  cursorKey: Buffer
  /** What links in answers start with: the public address, else the one it listens on. */
  origin: string
  /** The origin that people log in at, where AUTH_ORIGIN or PUBLIC_URL says it; else it is the host that a caller names. */
  pageOrigin: string | undefined
  log: Logger
}

/** An answer before it is sent. `revision` makes a record's strong ETag; other texts get a weak one. */
export interface Answer {
  status: number
  text?: string
  revision?: number
  headers?: Record<string, string>
  /** Values of `Set-Cookie`. */
  cookies?: readonly string[]
  /** Done when the transaction of a write route is committed; a repeated answer does nothing. */
  onceCommitted?: () => void
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
  readonly ownOrigin: string
  cookie(name: string): string | undefined
}

interface BaseRequest {
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

/** A person and the session in which they ask; uuids. */
export interface Person {
  userId: string
  sessionId: string
}

export interface AccountRequest extends BaseRequest {
  person: Person
  /** A transaction, in which the session was found alive. */
  db: Spanning
  body: AnyRow
}

/** The same for work that takes long before it writes: no connection waits for it meanwhile. */
export interface AccountWork extends Omit<AccountRequest, 'db'> {
  /** Runs in a transaction, in which the session was found alive. */
  transact<Result>(work: (db: Spanning) => Promise<Result>): Promise<Result>
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

/** Parameters of its own, each once, with what it is for; `takesOthers` where another party adds what it likes. */
interface WordsQuery {
  kind: 'words'
  words: Readonly<Record<string, string>>
  takesOthers: boolean
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
  query: { kind: 'list' | 'count' | 'change' | 'one'; resource: Resource } | WordsQuery | { kind: 'none' }
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
  /** What the audit log tells of its effect, in the effect's own transaction; without it nothing. */
  audited?: AuditAction
  /** Does it need a proof of the last five minutes, or an API key that was given the resource by name? */
  fresh?: boolean
  handle(request: WriteRequest): Promise<Answer>
}

/** A route about the caller's own account, whatever the organization: by access token, never by API key. */
interface AccountBase extends RouteBase {
  kind: 'account'
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  body?: { component: string; shape: BodyShape; required: boolean }
  query: { kind: 'none' }
  /** Does it need a proof of the last five minutes? */
  fresh?: boolean
}

export type AccountRoute = AccountBase &
  ({ handle(request: AccountRequest): Promise<Answer> } | { outside(request: AccountWork): Promise<Answer> })

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

export type Route = ReadRoute | WriteRoute | AccountRoute | PublicRoute | PushRoute

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
