import type pg from 'pg'
import { distributionState } from '../platform/database/distribution/distribute.ts'
import type { Finding } from './finding.ts'

const name = 'cluster'

/** Checks the workers of a Citus cluster, and whether they have the records. Without Citus, there is no finding. */
export async function examineCluster(client: pg.Client): Promise<Finding[]> {
  const state = await distributionState(client)
  if (state === 'impossible') return []
  if (state === 'complete') return [await checkWorkers(client)]
  const command = 'stop all services, then run `rapport migrate --distribute`.'
  if (state === 'interrupted') {
    const message = 'the distribution of the records was interrupted'
    return [{ name, state: 'wrong', message, advice: `Finish it: ${command}` }]
  }
  const message = 'there are Citus workers, but the records are on the coordinator'
  return [{ name, state: 'note', message, advice: `To distribute them, ${command}` }]
}

/** Milliseconds by which the clocks of the servers may differ, because times of several of them are compared. */
const clockTolerance = 2000

async function checkWorkers(client: pg.Client): Promise<Finding> {
  const begin = Date.now()
  const { rows } = await client.query<{ worker: string; success: boolean; result: string }>(
    `select nodename || ':' || nodeport as worker, success, result
     from run_command_on_workers('select extract(epoch from clock_timestamp()) * 1000')`,
  )
  const lost = rows.filter(({ success }) => !success).map(({ worker }) => worker)
  if (lost.length > 0) {
    const advice =
      'Start it. Until then, requests of the organizations on it fail; the others are not affected. It needs no other repair.'
    return { name, state: 'wrong', message: `workers cannot be reached: ${lost.join(', ')}`, advice }
  }
  const skews = rows.map(({ result }) => Math.abs(Number(result) - (begin + Date.now()) / 2))
  const skew = Math.round(Math.max(0, ...skews))
  const message = `the records are distributed over ${rows.length} workers; their clocks differ by up to ${skew} ms`
  if (skew <= clockTolerance) return { name, state: 'ok', message }
  return { name, state: 'wrong', message, advice: 'Synchronize the clocks of all servers with NTP.' }
}
