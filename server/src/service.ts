import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { startBackground } from './background.ts'
import { eventSources, roleScopes, routes } from './app.ts'
import { originOf, publishedAddresses } from './cli/addresses.ts'
import type { Config } from './config.ts'
import { createIdentifier } from './identity/access/identify.ts'
import { deriveKey, type Secret } from './platform/secret/secret.ts'
import { createDenials } from './platform/audit/denials.ts'
import { createSessions } from './identity/access/sessions.ts'
import { setHashQueue } from './identity/access/passwords.ts'
import { createFailedLogins, type FailedLogins } from './identity/access/failed-logins.ts'
import { readTimeZone } from './identity/organizations/store.ts'
import { createThrottle } from './identity/access/throttle.ts'
import { createTokens } from './identity/access/tokens.ts'
import type { Database } from './platform/database/database.ts'
import { ProblemLog } from './platform/database/problem-log.ts'
import { type DatabaseWatch, watchDatabase } from './platform/database/watch.ts'
import { createEgress } from './platform/egress/egress.ts'
import { probeRoutes } from './platform/http/probes.ts'
import { createMetrics, type ImportAlarms, type Metrics, serveMetrics } from './platform/http/metrics.ts'
import type { InstallationState } from './platform/http/installation-metrics.ts'
import { readFreeSpace } from './platform/files/free-space.ts'
import type { ReservedPort } from './platform/http/pages/reserved-port.ts'
import { listedResources, type Route, type Services } from './platform/http/route.ts'
import { createServer, type ServerOptions } from './platform/http/server.ts'
import { relationsAmong } from './platform/records/declare/relations.ts'
import { Wakeups } from './platform/queue/wakeups.ts'
import { feedDays } from './crm/history-retention-store.ts'
import { Feed } from './feed/feed.ts'
import { listGuides, noGuides } from './platform/http/pages/guides.ts'
import { noWebApplication, readWebApplication } from './platform/http/pages/web-files.ts'
import type { HandedConnections } from './processes/connections.ts'
import { createLimits, type Limits } from './processes/limits.ts'
import type { WorkKind } from './processes/protocol.ts'
import { releaseFolder, webFolder } from './release.ts'
import { isWithoutUsers } from './api/home/routes.ts'
import { createIntake } from './intake/accept/intake.ts'
import { createRefusals } from './intake/accept/refusals.ts'
import { countImportsNearLimit } from './intake/imports/pushed-bytes-store.ts'
import { alarmingShare } from './intake/imports/resource.ts'
import { importQueue } from './intake/work/queue-store.ts'
import { createImportWorkers } from './intake/work/import-workers.ts'
import { insertFirstPipeline } from './crm/pipelines/store.ts'
import { countAlarmingImports } from './intake/refused-pushes/store.ts'
import { measureDatabase } from './api/system/measurements-store.ts'
import { createInstallation, type SystemFinding } from './api/system/installation.ts'
import { savedViews } from './crm/views/store.ts'
import { version } from './release.ts'
import { countImportsOptingOut } from './assistant/suggestions/store.ts'
import { startNoteAnalysis } from './assistant/suggestions/start.ts'
import { noteQueue } from './assistant/work/queue-store.ts'
import { startWebhooks } from './webhooks/dispatcher.ts'
import { reportFailedRows } from './inbox/failed-rows-store.ts'
import { inboxNotices } from './inbox/notices-store.ts'
import { removeInbox } from './inbox/store.ts'

export interface ServiceOptions {
  config: Config
  database: Database
  /** Pool reserved for pushes. */
  intakeDatabase: Database
  /** Pool reserved for import workers. */
  workDatabase: Database
  secret: Secret
  log: Logger
  /** False until the database is prepared, and once the service is stopping. */
  isReady: () => boolean
  /** Resolves once the database is migrated, when background work starts. */
  prepared: Promise<unknown>
  /** When the service was started; one of several processes may have been started later. */
  startedAt: Date
  /** Runs the checks of `rapport doctor`. */
  examine: () => Promise<SystemFinding[]>
  /** Routes to serve: those of the product, unless a test adds others. */
  servedRoutes?: readonly Route[]
  /** Ports reserved for the service; without them, it binds its own. */
  ports?: { api: ReservedPort; metrics: ReservedPort | undefined }
  /** Set if this is one of several processes of a service. */
  part?: ServicePart
  /** Milliseconds between two times of storing refused pushes. Default: one second. */
  refusalInterval?: number
}

/** What one of several processes shares with the others. */
export interface ServicePart {
  /** Address of the primary, which accepts the connections. */
  url: string
  connections: HandedConnections
  limits: Limits
  /** Whether this process sends mails and maintains the database, for all processes. */
  isFirst: boolean
  /** Announces possible work to the other processes. */
  notify: (work: WorkKind) => void
}

export interface Service {
  url: string
  /** Stops accepting requests, waits for those in progress, then shuts down. */
  close(): Promise<void>
}

/** A service in this process. */
export interface LocalService extends Service {
  metrics: Metrics
  /** Checks for work immediately. */
  wake(work: WorkKind): void
}

/** Assembles the parts and listens. Errors: those of listening (a port in use). */
export async function startService(options: ServiceOptions): Promise<LocalService> {
  const { config, database, workDatabase, secret, log, ports, part, servedRoutes = routes, refusalInterval } = options
  const closing = new AbortController()
  const stopped = once(closing.signal, 'abort').then(() => Promise.reject(new Error('The service has stopped.')))
  // A service that stops before its database is available must not wait for it.
  const ready = Promise.race([options.prepared, stopped])
  const servesApi = config.role !== 'work'
  const isMaintaining = config.role !== 'api' && (part?.isFirst ?? true)
  const metrics = serviceMetrics(options, isMaintaining)
  const wakeups = new Wakeups({ database: workDatabase, log })
  const common = { ...config, database: workDatabase, secret, log, wakeups, ready }
  const noteAnalysis = startNoteAnalysis({
    ...common,
    onAnalysed: ({ engine, degradedReason = 'ok' }) => metrics.noteAnalysed(engine, degradedReason),
  })
  const wakeNoteAnalysis = (organizationId: string) =>
    wakeups.announce(noteQueue.kind, [organizationId], () => {
      noteAnalysis.wake()
      part?.notify('notes')
    })
  const importWorkers = createImportWorkers({
    database: workDatabase,
    log,
    wakeups,
    workers: config.importWorkers,
    leaseSeconds: config.importLeaseSeconds,
    isMaintaining,
    ready,
    onFailedRows: reportFailedRows,
    onProcessed: (organizationId) => wakeups.announce(noteQueue.kind, [organizationId], () => noteAnalysis.wake()),
  })
  const wakeImports = (organizationIds: Iterable<string>) =>
    wakeups.announce(importQueue.kind, organizationIds, () => {
      importWorkers.wake()
      part?.notify('imports')
    })
  const intake = createIntake({ ...config, log, database: options.intakeDatabase, onAccepted: wakeImports })
  const interval = refusalInterval === undefined ? {} : { interval: refusalInterval }
  const refusals = createRefusals({ database, secret, log, onRefused: metrics.pushRefused, ...interval })
  const webhooks = startWebhooks({ ...common, sources: eventSources, services: () => services })
  const failedLogins = createFailedLogins(log)
  const limits =
    part?.limits ?? createLimits(config, config.databaseUrl === undefined ? undefined : options.intakeDatabase)
  const watch = startWatch(options, ready)
  const feed = new Feed({ database, log, ready, notices: inboxNotices })
  const services = createServices(options, {
    watch,
    feed,
    limits,
    intake,
    refusals,
    onFailure: failedLogins.record,
    noteAnalysis: { wake: wakeNoteAnalysis },
    importWork: { wake: (organizationId) => wakeImports([organizationId]) },
    webhooks,
  })
  const { trustProxy, corsOrigins, authOrigin, metricsHost: host } = config
  const app = await createServer({
    services,
    routes: servesApi ? servedRoutes : probeRoutes,
    refusal: servesApi ? undefined : noApi,
    trustProxy,
    corsOrigins,
    authOrigin,
    ...(servesApi ? await readPages() : { web: noWebApplication, guides: noGuides }),
    needsSetUp: () => needsSetUp(services),
    metrics,
    isReady: options.isReady,
  })
  const url = part ? await serveHanded(app, part) : await listen(app, config, ports?.api)
  services.origin = config.publicUrl ?? url
  const findOrigin = originFinder(options, services.origin)
  const background = isMaintaining
    ? startBackground({ config, database: workDatabase, secret, log, wakeups, ready, findOrigin, metrics })
    : undefined
  if (background) services.mail = background.mail
  const port = part ? undefined : config.metricsPort
  const exporter = await serveMetrics(metrics.text, { port, host, reserved: ports?.metrics, log })
  return {
    url,
    metrics,
    wake: (kind) => ({ imports: importWorkers, notes: noteAnalysis, mail: background?.mail })[kind]?.wake(),
    close: async () => {
      closing.abort()
      await part?.connections.close()
      // Requests that wait for events end, so that the server can close.
      await feed.close()
      await app.close()
      failedLogins.close()
      await limits.close?.()
      // Pushes whose clients did not wait for the response.
      await intake.idle()
      await refusals.idle()
      await services.denials.idle()
      await Promise.all([
        importWorkers.close(),
        noteAnalysis.close(),
        webhooks.close(),
        background?.close(),
        watch.close(),
      ])
      await wakeups.idle()
      await exporter?.close()
    },
  }
}

/** Where links in mails lead, which is known only when the service listens on `own`. */
function originFinder({ config, workDatabase }: ServiceOptions, own: string): () => Promise<string> {
  const { role, publicUrl, authOrigin } = config
  const origin = authOrigin ?? own
  return role !== 'work' || publicUrl !== undefined || authOrigin !== undefined
    ? async () => origin
    : async () => originOf(await publishedAddresses(workDatabase)) ?? origin
}

const serviceMetrics = ({ config, database, workDatabase }: ServiceOptions, isMaintaining: boolean): Metrics =>
  createMetrics({
    version: version(),
    pool: () => database.counts,
    installation: isMaintaining
      ? { alarms: importAlarms(workDatabase), measure: () => measureInstallation(workDatabase, config) }
      : undefined,
  })

const measureInstallation = async (database: Database, { dataFolder }: Config): Promise<InstallationState> => ({
  ...(await measureDatabase(database)),
  freeBytes: await readFreeSpace(dataFolder),
})

function startWatch(
  { config, database, intakeDatabase, workDatabase, log, part }: ServiceOptions,
  ready: Promise<unknown>,
): DatabaseWatch {
  const problems = new ProblemLog(log)
  for (const pool of [database, intakeDatabase, workDatabase]) {
    pool.reportFailures((error) => problems.reportError(error))
  }
  const isEmbedded = config.databaseUrl === undefined
  return watchDatabase({ database, log, problems, isEmbedded, isFirst: part?.isFirst ?? true, ready })
}

const importAlarms = (database: Database): ImportAlarms => ({
  refusing: () => countAlarmingImports(database),
  nearLimit: () => countImportsNearLimit(database, alarmingShare),
  optingOut: () => countImportsOptingOut(database),
})

/** What the service shows in browsers, besides its own small pages. */
const readPages = async (): Promise<Pick<ServerOptions, 'web' | 'guides'>> => ({
  web: readWebApplication(webFolder),
  guides: await listGuides(releaseFolder),
})

/** With ROLE=work. */
const noApi =
  'This process only does background work (ROLE=work). Send requests to a process with ROLE=api or ROLE=all.'

/** Milliseconds that a page waits for the database, which it needs only for this. */
const maxSetUpWait = 300

const needsSetUp = (services: Services): Promise<boolean> =>
  Promise.race([isWithoutUsers(services).catch(() => false), setTimeout(maxSetUpWait, false, { ref: false })])

/** The services that routes use. `mail` and `origin` are set once the address is known. */
function createServices(
  { config, database, secret, log, part, startedAt, examine, servedRoutes = routes }: ServiceOptions,
  {
    watch,
    feed,
    limits,
    intake,
    refusals,
    noteAnalysis,
    importWork: importWaker,
    webhooks,
    onFailure,
  }: Pick<Services, 'feed' | 'intake' | 'refusals' | 'noteAnalysis' | 'importWork' | 'webhooks'> & {
    watch: DatabaseWatch
    limits: Limits
    onFailure: FailedLogins['record']
  },
): Services {
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
    addFirstRecords: insertFirstPipeline,
    removeBelongings: removeInbox,
    limiter: limits.limiter,
    denials: createDenials({ database, log }),
    egress: createEgress({ allowed, plaintextHosts }),
    queryLimiter: limits.costlyQueries,
    areChangesWaiting: watch.areChangesWaiting,
    feed,
    eventDays: feedDays(config),
    intake,
    refusals,
    noteAnalysis,
    importWork: importWaker,
    webhooks,
    installation: createInstallation(
      {
        version: version(),
        startedAt,
        databaseKind: config.databaseUrl === undefined ? 'embedded' : 'external',
        hasMailServer: config.smtpUrl !== undefined,
        reasoningModel: config.reasoningUrl === undefined ? undefined : config.reasoningModel,
      },
      examine,
    ),
    mail: { wake: () => part?.notify('mail') },
    relations: relationsAmong(listedResources(servedRoutes)),
    views: savedViews,
    timeZone: readTimeZone,
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
