import type { Config } from '../config.ts'
import { StartError } from '../platform/database/start-error.ts'
import { type ReservedPort, reservePort } from '../platform/http/pages/reserved-port.ts'

/** The ports of a service, reserved before anything is created on disk. */
export interface ReservedPorts {
  api: ReservedPort
  metrics: ReservedPort | undefined
  /** Releases the ports that no server has taken over. */
  release(): void
}

/** Error: `StartError` that names the port and the setting to change. */
export async function reservePorts(config: Config): Promise<ReservedPorts> {
  const api = await reservePort(config.port, config.host).catch((error: unknown) => {
    throw translateError(error, { port: 'PORT', host: 'HOST' }, config.host)
  })
  const { metricsPort, metricsHost } = config
  try {
    const metrics = metricsPort === undefined ? undefined : await reservePort(metricsPort, metricsHost)
    const release = () => {
      api.release()
      metrics?.release()
    }
    return { api, metrics, release }
  } catch (error) {
    api.release()
    throw translateError(error, { port: 'METRICS_PORT', host: 'METRICS_HOST' }, metricsHost)
  }
}

function translateError(error: unknown, names: { port: string; host: string }, host: string): unknown {
  const { code = '', port = 0 } = error as NodeJS.ErrnoException & { port?: number }
  const messages: Record<string, string> = {
    EADDRINUSE: `Port ${port} is in use. Stop the program that uses it, or set ${names.port} to another port, for example ${port + 1}.`,
    EACCES: `This user is not allowed to listen on port ${port}. Set ${names.port} to a port above 1023.`,
    EADDRNOTAVAIL: `${names.host}=${host} is not an address of this machine.`,
    ENOTFOUND: `${names.host}=${host} is not a host name that this machine can resolve.`,
  }
  const message = messages[code]
  return message === undefined ? error : new StartError(message, { cause: error })
}
