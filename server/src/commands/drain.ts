import type { Logger } from 'pino'
import type { Service } from '../service.ts'

/** Milliseconds that requests under way may take at a stop, before their connections are closed. */
export const drainLimit = 25_000

/** Closes the service, but waits no longer than `limit` for the requests under way. */
export async function drain(
  service: Pick<Service, 'close'> | undefined,
  log: Logger,
  limit = drainLimit,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      log.warn('Some requests did not finish in time.')
      resolve()
    }, limit)
  })
  await Promise.race([service?.close(), late])
  clearTimeout(timer)
}
