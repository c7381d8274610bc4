import { once } from 'node:events'
import { drain, drainTimeout } from '../cli/drain.ts'
import { examineInstallation } from '../cli/examine-installation.ts'
import { openPools, shareOf } from '../cli/open.ts'
import { parseConfig } from '../config.ts'
import { createLog } from '../log.ts'
import { setBreachedPasswordsFile } from '../identity/access/breached-passwords.ts'
import type { EngineName } from '../platform/database/database.ts'
import { parseSecret } from '../platform/secret/secret.ts'
import { HandedConnections } from './connections.ts'
import { remoteLimits } from './limits.ts'
import { Link } from './link.ts'
import type { Assignment, PrimaryFunctions, WorkerFunctions } from './protocol.ts'
import { type LocalService, startService } from '../service.ts'

/** Milliseconds for requests in progress to finish when the primary, which counts the limits, has exited. */
const orphanDrainTimeout = 3000

/** A worker process of `rapport start`: serves until the primary closes it or exits. */
export async function runWorker(): Promise<void> {
  // A terminal sends signals to all processes; only the primary reacts.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined)
  const disconnected = once(process, 'disconnect').then(() => true)
  const state = { isPrepared: false, isStopping: false }
  const [preparedEngine, setPrepared] = deferred<EngineName>()
  const [closeRequested, close] = deferred<void>()
  const connections = new HandedConnections()
  const running: { service?: LocalService } = {}
  const functions: WorkerFunctions = {
    prepared: setPrepared,
    stopping: () => {
      state.isStopping = true
    },
    close,
    notify: (kind) => running.service?.wake(kind),
    metrics: async () => (await running.service?.metrics.snapshot()) ?? [],
  }
  const primary = new Link<PrimaryFunctions>(process, {
    functions,
    onSocket: (socket) => {
      primary.send('accepted')
      if (socket) connections.accept(socket)
    },
  })
  const assignment = await primary.request('begin')
  if (assignment.isPrepared) setPrepared(assignment.engine)
  state.isStopping ||= assignment.isStopping
  const parts = await open(assignment)
  parts.useEngine(assignment.engine)
  const prepared = preparedEngine.then((engine) => {
    parts.useEngine(engine)
    state.isPrepared = true
  })
  const service = await startService({
    ...parts,
    isReady: () => state.isPrepared && !state.isStopping,
    prepared,
    part: {
      url: assignment.url,
      connections,
      limits: remoteLimits(primary),
      isFirst: assignment.index === 0,
      notify: (kind) => primary.send('notify', kind),
    },
  })
  running.service = service
  primary.send('ready')
  const isOrphaned = await Promise.race([closeRequested.then(() => false), disconnected])
  if (isOrphaned) parts.log.error('The process that started this one has exited; stopping.')
  state.isStopping = true
  await drain(service, parts.log, isOrphaned ? orphanDrainTimeout : drainTimeout)
  await parts.close()
}

/** Opens the parts of a service from the assignment and the environment, which it inherits from the primary. */
async function open({ index, processes, connection, secret: text, startedAt }: Assignment) {
  const whole = { ...parseConfig(process.env), processes }
  const config = shareOf(whole, index)
  await setBreachedPasswordsFile(config.breachedPasswordsFile)
  const log = createLog(config.logLevel, index + 1)
  const pools = openPools(config, connection, (message) => log.info(message))
  const secret = parseSecret(text)
  const examine = () => examineInstallation(whole, connection)
  return { ...pools, config, log, secret, startedAt: new Date(startedAt), examine }
}

/** A promise and the function that resolves it. */
function deferred<Value>(): [Promise<Value>, (value: Value) => void] {
  let resolve: (value: Value) => void = () => undefined
  const promise = new Promise<Value>((resolvePromise) => (resolve = resolvePromise))
  return [promise, (value) => resolve(value)]
}
