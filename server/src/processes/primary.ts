import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { localUrl } from '../cli/addresses.ts'
import type { Rapport } from '../cli/open.ts'
import type { ReservedPorts } from '../cli/reserve-ports.ts'
import { serveMetrics } from '../platform/http/metrics.ts'
import { createLimits, serveLimits } from './limits.ts'
import type { Assignment, WorkKind } from './protocol.ts'
import { SummedMetrics } from './summed-metrics.ts'
import { type WorkerHandlers, Workers } from './workers.ts'
import { buildId, workerFile } from '../release.ts'
import type { Service } from '../service.ts'

export interface PrimaryOptions extends Pick<
  Rapport,
  'connection' | 'intakeDatabase' | 'secret' | 'prepared' | 'isPrepared' | 'engine'
> {
  config: Config
  startedAt: Date
  log: Logger
  ports: ReservedPorts
  stop: { requested: Promise<void>; isRequested(): boolean }
}

/** The primary accepts connections and hands them over, counts the limits, and replaces workers that exit. */
export async function startWorkers({ config, log, ports, stop, ...rapport }: PrimaryOptions): Promise<Service> {
  const url = localUrl(config.host, ports.api.port)
  const limits = createLimits(config, config.databaseUrl === undefined ? undefined : rapport.intakeDatabase)
  const metrics = new SummedMetrics()
  const build = buildId()
  const createHandlers = (index: number): WorkerHandlers => {
    const served = serveLimits(limits)
    const begin = (): Assignment => ({
      index,
      processes: config.processes,
      connection: rapport.connection,
      startedAt: rapport.startedAt.toISOString(),
      secret: rapport.secret.export().toString('hex'),
      url,
      isPrepared: rapport.isPrepared(),
      engine: rapport.engine(),
      isStopping: stop.isRequested(),
    })
    const notify = (work: WorkKind) => {
      for (const other of workers.all) if (other.index !== index) other.link.send('notify', work)
    }
    const end = () => {
      served.end()
      metrics
        .end(index)
        .catch((error: unknown) => log.error({ err: error }, 'metrics: the counts of an exited process were lost'))
    }
    return { functions: { ...served.functions, begin, notify }, end }
  }
  const workers = new Workers({
    count: config.processes,
    file: workerFile,
    log,
    createHandlers,
    onReplaced: () => metrics.replaced(),
    restartBlocker: () =>
      buildId() === build
        ? undefined
        : 'a process cannot be replaced, because the code was rebuilt; restart the service',
  })
  process.once('exit', () => workers.kill())
  void rapport.prepared.then(
    () => workers.all.forEach(({ link }) => link.send('prepared', rapport.engine())),
    () => undefined,
  )
  void stop.requested.then(() => workers.all.forEach(({ link }) => link.send('stopping')))
  ports.api.passConnectionsTo((socket) => workers.handOver(socket))
  const { metricsPort: port, metricsHost: host } = config
  const exporter = await serveMetrics(() => metrics.text(workers.all), { port, host, reserved: ports.metrics, log })
  await Promise.race([workers.allReady, stop.requested])
  return {
    url,
    close: async () => {
      await workers.close()
      await limits.close?.()
      await exporter?.close()
    },
  }
}
