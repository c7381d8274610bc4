import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { Command } from 'commander'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createLog } from '../log.ts'
import { announceService } from './service-file.ts'
import { errorForLog } from '../platform/background/error-for-log.ts'
import type { Service } from '../service.ts'
import { addressesOfService, localUrl, publishAddresses } from './addresses.ts'
import { printResult, configuration, withExample } from './command.ts'
import { drain, drainTimeout } from './drain.ts'
import { examineInstallation } from './examine-installation.ts'
import { commandHere, withInvocation } from './invocation.ts'
import { openRapport, type Rapport } from './open.ts'
import { reservePorts } from './reserve-ports.ts'
import { createSetUpLink } from './set-up-link.ts'

/** Milliseconds that a worker process may take to exit after the drain timeout. */
const workerExitTimeout = 2000
/**
 * Signals within this many milliseconds count as one: a terminal sends Ctrl-C to npm and to this process, and npm
 * passes it on.
 */
const repeatedSignalWindow = 1000

/** `rapport start`: serves until it receives a signal to stop. */
export const startCommand = () =>
  withExample(
    new Command('start')
      .description('Start the service, and the embedded database unless DATABASE_URL is set.')
      .action(start),
    '$ PORT=8080 DATA_DIR=/var/lib/rapport rapport start',
  )

async function start(): Promise<void> {
  const startedAt = new Date()
  growYoungGeneration(false)
  const config = configuration()
  const isPrimary = config.processes > 1
  // Loaded here, because no other command needs it, and first, while the files of this build still exist.
  const startService = isPrimary
    ? (await import('../processes/primary.ts')).startWorkers
    : (await import('../service.ts')).startService
  const log = createLog(config.logLevel, isPrimary ? 'primary' : undefined)
  const stop = stopSignal(log)
  // Before anything is created, so that a failure leaves nothing behind.
  const ports = await reservePorts(config)
  const rapport = await openRapport({
    config,
    purpose: 'service',
    log: (message) => log.info(message),
    warn: (message) => log.warn(message),
    logError: (message) => log.error(message),
  }).catch((error: unknown) => {
    ports.release()
    throw error
  })
  let service: Service | undefined
  let withdraw: (() => Promise<void>) | undefined
  try {
    const isReady = () => rapport.isPrepared() && !stop.isRequested()
    const examine = () => examineInstallation(config, rapport.connection)
    service = await startService({ ...rapport, config, log, isReady, ports, stop, startedAt, examine })
    const url = config.port === 0 ? service.url : localUrl(config.host, config.port)
    withdraw = await announce(config, url, log)
    await Promise.race([rapport.prepared, stop.requested])
    if (!stop.isRequested()) await printWelcome(rapport, url, log)
    growYoungGeneration(true)
    await stop.requested
    // Still serving but no longer ready, so that load balancers notice.
    await delay(config.drainMilliseconds)
  } finally {
    await withdraw?.()
    ports.release()
    await drain(service, log, isPrimary ? drainTimeout + workerExitTimeout : drainTimeout)
    await rapport.close()
  }
  log.info('Stopped.')
}

/**
 * What is allocated by a start mostly stays, for which V8 would enlarge the young generation: by up to 32 MB, which only a
 * service under load needs.
 */
const growYoungGeneration = (grows: boolean): void => setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)

/** The first signal requests a stop; a later one ends the process immediately. */
function stopSignal(log: Logger): { requested: Promise<void>; isRequested(): boolean } {
  let requestedAt: number | undefined
  let resolve: () => void = () => undefined
  const requested = new Promise<void>((resolvePromise) => {
    resolve = resolvePromise
  })
  const requestStop = (signal: NodeJS.Signals) => {
    if (requestedAt === undefined) {
      requestedAt = performance.now()
      log.info(`${signal}: stopping after the requests in progress.`)
      resolve()
    } else if (performance.now() - requestedAt > repeatedSignalWindow) {
      log.warn(`${signal} again: stopping immediately. The next start takes over the database.`)
      process.exit(1)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, requestStop)
  return { requested, isRequested: () => requestedAt !== undefined }
}

/** Publishes the service for commands of this data folder. A missing folder is not an error. */
async function announce(config: Config, url: string, log: Logger): Promise<(() => Promise<void>) | undefined> {
  const { dataFolder, databaseUrl } = config
  try {
    const withdraw = await announceService(dataFolder, { url, ownsDataFolder: databaseUrl === undefined })
    if (withdraw === undefined)
      log.warn(`${dataFolder} contains the service.json of another service, which was not changed.`)
    return withdraw
  } catch (error) {
    log.debug(`service.json could not be written to ${dataFolder}: ${(error as Error).message}`)
    return undefined
  }
}

const linkFailedMessage =
  'The set-up link could not be created. If there are no users yet, start again, or run `rapport bootstrap` on this machine.'

const notPublishedMessage =
  'The addresses of this service could not be stored. Until the next start, commands print the addresses of their own settings.'

async function printWelcome({ config, database }: Rapport, url: string, log: Logger): Promise<void> {
  const addresses = addressesOfService(config, url)
  const { root } = addresses
  if (config.role === 'work') {
    printResult(
      `Rapport listens on ${url}\n  Role           work: background work; serves only ${url}/healthz and ${url}/readyz`,
    )
    return
  }
  await publishAddresses(database, addresses).catch((error: unknown) =>
    log.error(errorForLog(error), notPublishedMessage),
  )
  const lines = [
    `Rapport listens on ${url}`,
    `  Application    ${addresses.authOrigin ?? root}/`,
    `  API            ${root}/v5`,
    `  API explorer   ${root}/v5/swagger`,
    `  OpenAPI        ${root}/v5/docs`,
    `  Guides         ${root}/docs`,
  ]
  const link = await createSetUpLink(database, addresses.authOrigin ?? root).catch((error: unknown) => {
    log.error(errorForLog(error), withInvocation(linkFailedMessage))
    return undefined
  })
  if (link !== undefined) {
    lines.push(
      '',
      'There are no users yet. Open this link to create the first owner and organization. It works once, for 30 minutes:',
      `  ${link}`,
      'Or run this command on this machine, which also creates an API key and an import:',
      `  ${commandHere('bootstrap --email you@example.com --organization "Your company"')}`,
    )
  }
  printResult(lines.join('\n'))
}
