import type { Config } from '../config.ts'
import { findService } from './service-file.ts'
import type { Finding } from './finding.ts'

/** Checks whether the service of this data folder is running and responding. */
export async function examineService({ dataFolder }: Config): Promise<Finding[]> {
  const name = 'service'
  const running = await findService(dataFolder)
  if (!running) return [{ name, state: 'note', message: `no service is running on ${dataFolder}` }]
  const where = `process ${running.pid} at ${running.url}`
  try {
    const { status } = await fetch(`${running.url}/readyz`, { signal: AbortSignal.timeout(6000) })
    if (status === 200) return [{ name, state: 'ok', message: `${where} is ready` }]
    const advice = 'See its log and the findings below.'
    return [{ name, state: 'wrong', message: `${where} is not ready (${status})`, advice }]
  } catch (error) {
    const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error)
    const advice = 'See its log; if it hangs, restart it.'
    return [{ name, state: 'wrong', message: `${where} does not respond: ${reason}`, advice }]
  }
}
