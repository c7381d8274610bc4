import type pg from 'pg'
import { alarmingRefusals } from '../resources/imports/resource.ts'
import type { Finding } from './doctor.ts'
import { formatCount } from './progress.ts'

/** Reports imports with a sender whose last pushes were all refused. */
export async function examinePushes(client: pg.Client): Promise<Finding> {
  const name = 'pushes'
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from (
       select organization_id, import_id from refused_senders where refused >= ${alarmingRefusals} group by 1, 2) alarming`,
  )
  const count = rows[0]?.count ?? 0
  if (count === 0) return { name, state: 'ok', message: 'no sender of an import is only refused' }
  const message = `${formatCount(count)} ${count === 1 ? 'import has' : 'imports have'} a sender whose last pushes were all refused`
  const advice =
    'Open the import in the application: it shows the sender and the reason, and the leads can be accepted there.'
  return { name, state: 'note', message, advice }
}
