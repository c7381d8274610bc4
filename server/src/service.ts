import { once } from 'node:events'
import type { Logger } from 'pino'
import { routes } from './app.ts'
import type { Config } from './config.ts'
import { createIdentifier } from './platform/access/identify.ts'
import { deriveKey, type Secret } from './platform/access/secret.ts'
import { createDenials } from './platform/audit/denials.ts'
import { createSessions } from './platform/access/sessions.ts'
import { createKeyUpkeep } from './platform/access/signing-keys-upkeep.ts'
import { createThrottle } from './platform/access/throttle.ts'
import type { Tokens } from './platform/access/tokens.ts'
import type { Database } from './platform/database/database.ts'
import { createEgress } from './platform/egress/egress.ts'
import { createMetrics } from './platform/http/metrics.ts'
import { createRateLimiter } from './platform/http/rate-limit.ts'
import type { Services } from './platform/http/route.ts'
import { createServer } from './platform/http/server.ts'
import { createGate } from './platform/query/gate.ts'
import { createUpkeep } from './platform/upkeep/upkeep.ts'
import { perishables } from './perishables.ts'
import { accountPage } from './resources/auth/page.ts'
import { explorerFiles } from './resources/docs/explorer.ts'
import { createIntake } from './resources/imports/intake.ts'
import { createImportWork } from './resources/imports/work.ts'
import { singleSignOnPages } from './resources/single-sign-on/routes.ts'
import { startMail } from './resources/mails/start.ts'

export interface ServiceOptions {
  config: Config
  database: Database
  /** The pool of pushes alone. */
  intakeDatabase: Database
  /** The pool of the work on rows alone. */
  workDatabase: Database
  secret: Secret
  tokens: Tokens
  log: Logger
  /** False while the database is not prepared and once the service is told to stop. */
  isReady: () => boolean
  /** Resolves once the database has its tables: work begins then. */
  prepared: Promise<unknown>
}

export interface Service {
  url: string
  /** Takes no new requests, waits for those under way, then is gone. */
  close(): Promise<void>
}

/** Puts the parts together and listens. Errors: those of listening (a port in use). */
export async function startService({
  config,
  database,
  intakeDatabase,
  workDatabase,
  secret,
  tokens,
  log,
  isReady,
  prepared,
}: ServiceOptions): Promise<Service> {
  const closing = new AbortController()
  const stopped = once(closing.signal, 'abort').then(() => Promise.reject(new Error('The service is stopped.')))
  // Told to stop before the database came, it does not wait for it.
  const ready = Promise.race([prepared, stopped])
  const work = createImportWork({
    database: workDatabase,
    log,
    workers: config.importWorkers,
    leaseSeconds: config.importLeaseSeconds,
    ready,
  })
  const intake = createIntake({ database: intakeDatabase, onAccepted: () => work.wake() })
  const services: Services = {
    database,
    identifier: createIdentifier({ database, tokens }),
    sessions: createSessions({ database, secret, tokens }),
    tokens,
    secret,
    throttle: createThrottle({ database, secret }),
    signUp: config.signUp,
    limiter: createRateLimiter({ perMinute: config.rateLimitPerMinute }),
    denials: createDenials({ database, log }),
    egress: createEgress({ allowed: config.egressAllow }),
    gate: createGate({ concurrency: config.costlyQueries, queue: 64, waitMilliseconds: 3000 }),
    intake,
    mail: { wake: () => undefined },
    cursorKey: deriveKey(secret, 'cursor'),
    origin: '',
    pageOrigin: config.authOrigin ?? (config.publicUrl === undefined ? undefined : new URL(config.publicUrl).origin),
    log,
  }
  const metrics = createMetrics(() => database.counts)
  const app = await createServer({
    services,
    routes: [...routes, ...explorerFiles, ...accountPage, ...singleSignOnPages],
    trustProxy: config.trustProxy,
    corsOrigins: config.corsOrigins,
    authOrigin: config.authOrigin,
    metrics,
    isReady,
  })
  const url = await app.listen({ port: config.port, host: config.host })
  services.origin = config.publicUrl ?? url
  // Once it is known where links lead.
  const mail = startMail({ ...config, origin: services.origin, database: workDatabase, secret, log, ready })
  services.mail = mail
  const exporter =
    config.metricsPort === undefined ? undefined : await metrics.listen(config.metricsPort, config.metricsHost)
  const upkeep = createUpkeep({
    database: workDatabase,
    log,
    perishables: perishables(config),
    ready,
    purged: (name, count) => metrics.purged(name, count),
  })
  const keyUpkeep = createKeyUpkeep({ database: workDatabase, secret, log, ready })
  if (exporter) log.info({ url: exporter.url }, 'metrics')
  return {
    url,
    close: async () => {
      closing.abort()
      await app.close()
      // Pushes whose senders did not wait for the answer.
      await intake.idle()
      await services.denials.idle()
      await Promise.all([work.close(), upkeep.close(), keyUpkeep.close(), mail.close()])
      await exporter?.close()
    },
  }
}
