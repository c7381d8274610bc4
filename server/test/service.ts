import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { roleScopes } from '../src/app.ts'
import { type BootstrapResult, type NewOrganization, planOrganization, slugFromName } from '../src/cli/bootstrap.ts'
import { examineInstallation } from '../src/cli/examine-installation.ts'
import { createApiKey } from '../src/cli/create-api-key.ts'
import { type Config, parseConfig } from '../src/config.ts'
import { hashPassword } from '../src/identity/access/passwords.ts'
import type { Secret } from '../src/platform/secret/secret.ts'
import { createTokens } from '../src/identity/access/tokens.ts'
import { Database } from '../src/platform/database/database.ts'
import { sql } from '../src/platform/model/sql.ts'
import { newId, decodeId } from '../src/platform/model/ids.ts'
import { tablesByPlace } from '../src/places.ts'
import { intakePool } from '../src/intake/accept/intake.ts'
import { workPool } from '../src/intake/work/import-workers.ts'
import type { Route } from '../src/platform/http/route.ts'
import { type LocalService, startService } from '../src/service.ts'
import type pg from 'pg'
import { type HttpResponse, sendRequest } from './http-client.ts'
import { createDatabase, testCluster } from './postgres.ts'
import { citus } from '../src/platform/database/distribution/citus.ts'

/** A response with its text; `body` is the parsed JSON, undefined if there is no text. */
export interface TestResponse<Body> {
  status: number
  headers: Headers
  text: string
  body: Body
}

/** A JSON value whose structure the test asserts; `unknown` would need a cast on every line. */
// oxlint-disable-next-line no-explicit-any -- the test asserts what it reads
export type Json = any

export interface CallOptions {
  /** Sent as JSON; a string or bytes unchanged. */
  body?: unknown
  headers?: Record<string, string>
  /** True to receive the rejection of a request that would wait too long, instead of repeating it. */
  once?: boolean
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<TestResponse<Json>>

/** An organization with an API key of all scopes. Tests do not share records, so that they can run concurrently. */
export interface TestOrganization extends BootstrapResult {
  call: Call
  /** Calls with a key of the same organization and these scopes. */
  withScopes(scopes: readonly string[]): Promise<Call>
}

export interface TestService {
  url: string
  config: Config
  database: Database
  /** All log lines of the service. */
  logged: string[]
  anonymous: Call
  newOrganization(): Promise<TestOrganization>
  /** Looks for work now, which a test has added to the database. */
  wake: LocalService['wake']
  close(): Promise<void>
}

const secrets = new Map<string, Secret>()

/** All services on one database share its secret. */
function secretOf({ database = '' }: pg.ClientConfig): Secret {
  const secret = secrets.get(database) ?? createSecretKey(randomBytes(32))
  secrets.set(database, secret)
  return secret
}

/** The `application_name` of connections for background work. */
export const backgroundName = 'rapport in the background'

/** The environment of a service that only answers requests. It uses the test's database all the same. */
export const withoutBackground = { ROLE: 'api', DATABASE_URL: 'postgres://rapport@/crm?host=/run/postgresql' }

/** Starts the real service on a new database and a free port, with these environment variables. */
export async function startTestService(
  environment: Record<string, string> = {},
  existing?: { connection: pg.ClientConfig; secret?: Secret; drop(): Promise<void> },
  servedRoutes?: readonly Route[],
): Promise<TestService> {
  const { connection, drop } = existing ?? (await createDatabase())
  const config = parseConfig({
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '100000000',
    IMPORT_WORKERS: '0',
    REASONING_CONCURRENCY: '0',
    WEBHOOK_CONCURRENCY: '0',
    ...environment,
  })
  const database = new Database({ connection, size: 10, shared: 2, limitConcurrency: true })
  const intakeDatabase = new Database({ connection, ...intakePool })
  const workDatabase = new Database({
    connection: { ...connection, application_name: backgroundName },
    ...workPool(config),
  })
  if (testCluster().engine === 'citus') {
    for (const pool of [database, intakeDatabase, workDatabase]) pool.useEngine(citus(tablesByPlace.organization))
  }
  const secret = existing?.secret ?? secretOf(connection)
  const tokens = createTokens({ database, secret, roleScopes })
  const logged: string[] = []
  const log = pino(
    { level: 'trace' },
    new Writable({ write: (chunk, _encoding, done) => done(void logged.push(String(chunk))) }),
  )
  let isClosing = false
  const service = await startService({
    config,
    database,
    intakeDatabase,
    workDatabase,
    secret,
    log,
    isReady: () => !isClosing,
    prepared: Promise.resolve(),
    startedAt: new Date(),
    examine: () => examineInstallation(config, connection),
    ...(servedRoutes && { servedRoutes }),
    // Tests wait for what is stored, and send no flood.
    refusalInterval: 50,
  })
  const call = callerOf(service.url)
  return {
    url: service.url,
    config,
    database,
    logged,
    anonymous: call({}),
    wake: service.wake,
    async newOrganization() {
      const addresses = { baseUrl: `${service.url}/v5`, authUrl: service.url, teamBaseUrl: service.url }
      const { insert } = await planOrganization({ secret, tokens, addresses }, await sampleOrganization())
      const created = await database.crossTenantTransaction('create an organization', insert)
      const { organizationId, apiKey } = created
      await grantAllScopes(database, organizationId)
      const authorized = (key: string) =>
        call({ authorization: `Bearer ${key}`, 'service-organization-id': organizationId })
      return {
        ...created,
        call: authorized(apiKey),
        withScopes: async (scopes) =>
          authorized((await createApiKey({ database, organization: organizationId, name: 'test', scopes })).apiKey),
      }
    },
    async close() {
      isClosing = true
      await service.close()
      await Promise.all([database.close(), intakeDatabase.close(), workDatabase.close()])
      await drop()
    },
  }
}

/** The hash of the password of all owners. Hashing takes 100 ms, and most tests never use the password. */
let passwordHash: Promise<string> | undefined

/** An organization of a new person, like those that `rapport bootstrap` creates. */
async function sampleOrganization(): Promise<NewOrganization> {
  const name = `Organization ${randomUUID()}`
  const local = randomUUID()
  passwordHash ??= hashPassword('a password that is long enough', 'tests').catch((error: unknown) => {
    // A busy machine may refuse it; the next organization tries again.
    passwordHash = undefined
    throw error
  })
  const owner = { id: newId(), isNew: true, name: local, passwordHash: await passwordHash } as const
  return { name, slug: slugFromName(name), owner, email: `${local}@example.com` }
}

/** Gives the first key all scopes of an owner by name, because wildcards do not include some of them. */
const grantAllScopes = (database: Database, organizationId: string): Promise<object[]> =>
  database.crossTenantQuery(
    'check the database',
    sql`update api_keys set scopes = ${roleScopes('owner')}::text[], version = version + 1
      where organization_id = ${decodeId('org', organizationId)}::uuid`,
  )

/** Calls over real HTTP; paths are relative to the service's root (`/v5/contacts`). */
function callerOf(url: string): (headers: Record<string, string>) => Call {
  return (common) =>
    async (method, path, { body, headers = {}, once = false } = {}) => {
      const isRaw = typeof body === 'string' || body instanceof Uint8Array
      const send = () =>
        sendRequest(`${url}${path}`, {
          method,
          headers: { ...common, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
          body: body === undefined ? undefined : isRaw ? (body as string | Uint8Array) : JSON.stringify(body),
        })
      const response = await (once ? send() : untilAdmitted(send))
      return { ...response, body: response.text === '' ? undefined : parseJson(response.text) }
    }
}

/**
 * Repeats a request that was rejected unread because others of its tenant wait for connections, as every client should:
 * when several of a test's requests compete for a busy processor, that is the right answer to one of them.
 */
async function untilAdmitted(send: () => Promise<HttpResponse>): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt++) {
    const response = await send()
    const isRejected = response.status === 503 && response.text.includes('Too many requests are waiting.')
    if (!isRejected || attempt === 10) return response
    await delay(Number(response.headers.get('retry-after')) * 1000)
  }
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
