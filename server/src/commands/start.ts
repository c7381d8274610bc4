import { setTimeout as delay } from 'node:timers/promises'
import { Command } from 'commander'
import type { Logger } from 'pino'
import { createLog } from '../log.ts'
import { announceService } from '../platform/database/service-file.ts'
import { StartError } from '../platform/database/start-error.ts'
import { reported } from '../platform/background/failures.ts'
import type { Service } from '../service.ts'
import { answer, configuration, withExample } from './command.ts'
import { localUrl, openRapport, type Rapport } from './open.ts'
import { makeSetUpLink } from './set-up-link.ts'

/** A terminal sends Ctrl-C to npm and to us, and npm passes it on: within this many ms it is one signal. */
const sameSignal = 1000
/** Milliseconds that requests under way may take at a stop, before their connections are closed. */
const drainLimit = 25_000

/** `rapport start`: serves until it is told to stop. */
export const startCommand = () =>
  withExample(
    new Command('start')
      .description('Start the service, and the embedded database unless DATABASE_URL names another one.')
      .action(start),
    '$ PORT=8080 DATA_DIR=/var/lib/rapport rapport start',
  )

async function start(): Promise<void> {
  // No other command needs it. At once, while the file is there that this build has made.
  const { startService } = await import('../service.ts')
  const config = configuration()
  const log = createLog(config.logLevel)
  const stop = stopSignal(log)
  const rapport = await openRapport({ config, purpose: 'service', log: (message) => log.info(message) })
  let service: Service | undefined
  let takeBack: (() => Promise<void>) | undefined
  try {
    const isReady = () => rapport.isPrepared() && !stop.isAsked()
    service = await startService({ ...rapport, config, log, isReady }).catch((error: unknown) => {
      throw inWords(error, config)
    })
    const url = config.port === 0 ? service.url : localUrl(config.host, config.port)
    takeBack = await announce(config.dataFolder, url, log)
    await Promise.race([rapport.prepared, stop.asked])
    if (!stop.isAsked()) await greet(rapport, url, log)
    await stop.asked
    // Still serving, no longer ready: who shares out the requests gets time to see it.
    await delay(config.drainMilliseconds)
  } finally {
    await takeBack?.()
    await drain(service, log)
    await rapport.close()
  }
  log.info('Stopped.')
}

async function drain(service: Service | undefined, log: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      log.warn('Some requests did not end in time.')
      resolve()
    }, drainLimit)
  })
  await Promise.race([service?.close(), late])
  clearTimeout(timer)
}

/** The first signal asks to stop; one that comes later, when somebody lost patience, ends the process at once. */
function stopSignal(log: Logger): { asked: Promise<void>; isAsked(): boolean } {
  let askedAt: number | undefined
  let resolve: () => void = () => undefined
  const asked = new Promise<void>((settle) => {
    resolve = settle
  })
  const ask = (signal: NodeJS.Signals) => {
    if (askedAt === undefined) {
      askedAt = performance.now()
      log.info(`${signal}: stopping. Requests under way are finished first.`)
      resolve()
    } else if (performance.now() - askedAt > sameSignal) {
      log.warn(`${signal} again: ending at once. The next start takes the database over.`)
      process.exit(1)
    }
  }
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, ask)
  return { asked, isAsked: () => askedAt !== undefined }
}

/** Lets the commands of this data folder find the service; without one there is nobody to tell. */
async function announce(dataFolder: string, url: string, log: Logger): Promise<(() => Promise<void>) | undefined> {
  try {
    return await announceService(dataFolder, { url })
  } catch (error) {
    log.debug(`The service is not announced in ${dataFolder}: ${(error as Error).message}`)
    return undefined
  }
}

const noLink =
  'The link to make the first owner and organization could not be made. If nobody is here yet, start again for one, or run `node bin/rapport.js bootstrap` on this machine.'

async function greet({ config, database }: Rapport, url: string, log: Logger): Promise<void> {
  const root = config.publicUrl ?? url
  const lines = [
    `Rapport listens on ${url}`,
    `  API            ${root}/v5`,
    `  API explorer   ${root}/v5/swagger`,
    `  OpenAPI        ${root}/v5/docs`,
  ]
  const link = await makeSetUpLink(database, root).catch((error: unknown) => {
    log.error(reported(error), noLink)
    return undefined
  })
  if (link !== undefined) {
    lines.push(
      '',
      'Nobody is here yet. This link makes the first owner and organization; it is good once, for 30 minutes:',
      `  ${link}`,
      'Or, on this machine, with an API key and an import at once:',
      '  node bin/rapport.js bootstrap --email you@example.com --organization "Your company"',
    )
  }
  answer(lines.join('\n'))
}

function inWords(error: unknown, { host }: { host: string }): unknown {
  const { code = '', port = 0 } = error as NodeJS.ErrnoException & { port?: number }
  const words: Record<string, string> = {
    EADDRINUSE: `Port ${port} is in use. Stop the program that has it, or choose another port, for example ${port + 1}.`,
    EACCES: `This user may not listen on port ${port}. Choose one above 1023.`,
    EADDRNOTAVAIL: `HOST=${host} is not an address of this machine.`,
    ENOTFOUND: `HOST=${host} is not a name that this machine knows.`,
  }
  const message = words[code]
  return message === undefined ? error : new StartError(message, { cause: error })
}
