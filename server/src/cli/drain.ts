import type { Logger } from 'pino'
import type { Service } from '../service.ts'

/** Milliseconds for requests in progress to finish at a stop, before their connections are closed. */
export const drainTimeout = 25_000

/** Closes the service, but waits at most `timeout` ms for requests in progress. */
export async function drain(
  service: Pick<Service, 'close'> | undefined,
  log: Logger,
  timeout = drainTimeout,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timedOut = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      log.warn('Some requests did not finish in time.')
      resolve()
    }, timeout)
  })
  await Promise.race([service?.close(), timedOut])
  clearTimeout(timer)
}
