import { once } from 'node:events'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { resources, roleScopes, routes } from './app.ts'
import type { Config } from './config.ts'
import { createIdentifier } from './identity/access/identify.ts'
import { deriveKey, type Secret } from './platform/secret/secret.ts'
import { createDenials } from './platform/audit/denials.ts'
import { createSessions } from './identity/access/sessions.ts'
import { createKeyMaintenance } from './identity/access/signing-keys-maintenance.ts'
import { setHashQueue } from './identity/access/passwords.ts'
import { createFailedLogins, type FailedLogins } from './identity/access/failed-logins.ts'
import { createThrottle } from './identity/access/throttle.ts'
import { createTokens } from './identity/access/tokens.ts'
import type { Database } from './platform/database/database.ts'
import { createEgress } from './platform/egress/egress.ts'
import { createMetrics, type Metrics, serveMetrics } from './platform/http/metrics.ts'
import type { ReservedPort } from './platform/http/reserved-port.ts'
import type { Route, Services } from './platform/http/route.ts'
import { createServer } from './platform/http/server.ts'
import type { HandedConnections } from './processes/connections.ts'
import { createLimits, type Limits } from './processes/limits.ts'
import type { WorkKind } from './processes/protocol.ts'
import { createMaintenance } from './platform/maintenance/maintenance.ts'
import { retentionPolicies } from './retention-policies.ts'
import { createIntake } from './resources/imports/intake/intake.ts'
import type { Intake } from './resources/imports/intake/push.ts'
import { createImportWorkers } from './resources/imports/work/import-workers.ts'
import { startMail } from './identity/mails/start.ts'

export interface ServiceOptions {
  config: Config
  database: Database
  /** The pool of pushes alone. */
  intakeDatabase: Database
  /** The pool of the work on rows alone. */
  workDatabase: Database
  secret: Secret
  log: Logger
  /** False while the database is not prepared and once the service is told to stop. */
  isReady: () => boolean
  /** Resolves once the database has its tables: work begins then. */
  prepared: Promise<unknown>
  /** What it serves: the product's routes, unless a test adds its own. */
  servedRoutes?: readonly Route[]
  /** Ports that were reserved for it; without them it binds its own. */
  ports?: { api: ReservedPort; metrics: ReservedPort | undefined }
  /** What makes it one of several processes of a service; without it, it is all of it. */
  part?: ServicePart
}

/** What one of several processes of a service has of the others. */
export interface ServicePart {
  /** Where the primary listens, which accepts the connections. */
  url: string
  connections: HandedConnections
  limits: Limits
  /** Does it send mails and maintain the database, for all? */
  isFirst: boolean
  /** Tells the others that there may be something to do. */
  notify: (importWorkers: WorkKind) => void
}

export interface Service {
  url: string
  /** Takes no new requests, waits for those under way, then is gone. */
  close(): Promise<void>
}

/** A service within its own process. */
export interface LocalService extends Service {
  metrics: Metrics
  /** There may be something to do: looks at once. */
  wake(importWorkers: WorkKind): void
}

/** Puts the parts together and listens. Errors: those of listening (a port in use). */
export async function startService(options: ServiceOptions): Promise<LocalService> {
  const { config, database, workDatabase, secret, log, ports, part, servedRoutes = routes } = options
  const closing = new AbortController()
  const stopped = once(closing.signal, 'abort').then(() => Promise.reject(new Error('The service has stopped.')))
  // Told to stop before the database came, it does not wait for it.
  const ready = Promise.race([options.prepared, stopped])
  const isMaintaining = part?.isFirst ?? true
  const importWorkers = createImportWorkers({
    database: workDatabase,
    log,
    workers: config.importWorkers,
    leaseSeconds: config.importLeaseSeconds,
    isMaintaining,
    ready,
  })
  const intake = createIntake({
    database: options.intakeDatabase,
    onAccepted: () => {
      importWorkers.wake()
      part?.notify('imports')
    },
  })
  const failedLogins = createFailedLogins(log)
  const services = createServices(options, { intake, onFailure: failedLogins.record })
  const metrics = createMetrics(() => database.counts)
  const { trustProxy, corsOrigins, authOrigin, metricsHost: host } = config
  const { isReady } = options
  const app = await createServer({
    services,
    routes: servedRoutes,
    trustProxy,
    corsOrigins,
    authOrigin,
    metrics,
    isReady,
  })
  const url = part ? await serveHanded(app, part) : await listen(app, config, ports?.api)
  services.origin = config.publicUrl ?? url
  // Once it is known where links lead: to a page of the authentication.
  const origin = authOrigin ?? services.origin
  const background = isMaintaining
    ? startBackground({ config, database: workDatabase, secret, log, ready, origin, metrics })
    : undefined
  if (background) services.mail = background.mail
  const port = part ? undefined : config.metricsPort
  const exporter = await serveMetrics(metrics.text, { port, host, reserved: ports?.metrics, log })
  return {
    url,
    metrics,
    wake: (kind) => (kind === 'imports' ? importWorkers.wake() : background?.mail.wake()),
    close: async () => {
      closing.abort()
      await part?.connections.close()
      await app.close()
      failedLogins.close()
      // Pushes whose senders did not wait for the answer.
      await intake.idle()
      await services.denials.idle()
      await Promise.all([importWorkers.close(), background?.close()])
      await exporter?.close()
    },
  }
}

/** What routes use. Its `mail` and `origin` are put in once it is known where the service listens. */
function createServices(
  { config, database, secret, log, part }: ServiceOptions,
  { intake, onFailure }: { intake: Intake; onFailure: FailedLogins['record'] },
): Services {
  const limits = part?.limits ?? createLimits(config)
  const tokens = createTokens({ database, secret, roleScopes })
  if (part) setHashQueue(limits.hashing)
  const { signUp, authOrigin, publicUrl, egressAllow: allowed, plaintextHosts } = config
  return {
    database,
    identifier: createIdentifier({ database, tokens, roleScopes }),
    sessions: createSessions({ database, secret, tokens }),
    tokens,
    secret,
    throttle: createThrottle({ database, secret, onFailure }),
    signUp,
    limiter: limits.limiter,
    denials: createDenials({ database, log }),
    egress: createEgress({ allowed, plaintextHosts }),
    queryLimiter: limits.costlyQueries,
    intake,
    mail: { wake: () => part?.notify('mail') },
    cursorKey: deriveKey(secret, 'cursor'),
    origin: '',
    pageOrigin: authOrigin ?? (publicUrl === undefined ? undefined : new URL(publicUrl).origin),
    log,
  }
}

async function listen(app: FastifyInstance, { port, host }: Config, reserved: ReservedPort | undefined) {
  reserved?.handOverTo(app.server)
  return app.listen({ port, host })
}

async function serveHanded(app: FastifyInstance, { connections, url }: ServicePart): Promise<string> {
  await app.ready()
  connections.serve(app.server)
  return url
}

interface BackgroundOptions extends Pick<ServiceOptions, 'config' | 'database' | 'secret' | 'log'> {
  ready: Promise<unknown>
  /** What links in mails start with. */
  origin: string
  metrics: Metrics
}

/** What one process does for the whole service: it sends mails, purges, and rotates signing keys. */
function startBackground({ config, origin, metrics, ...options }: BackgroundOptions) {
  const mail = startMail({ ...config, origin, ...options })
  const maintenance = createMaintenance({
    ...options,
    retentionPolicies: retentionPolicies(config),
    rendered: resources.filter(({ renderingVersion }) => renderingVersion !== undefined),
    purged: (name, count) => metrics.purged(name, count),
  })
  const keyMaintenance = createKeyMaintenance(options)
  const close = async () => {
    await Promise.all([maintenance.close(), keyMaintenance.close(), mail.close()])
  }
  return { mail, close }
}
