import type pg from 'pg'
import { alarmingRefusals, alarmingShare } from '../intake/imports/resource.ts'
import type { Check } from './examination.ts'
import { formatCount } from './progress.ts'
import type { Finding } from './finding.ts'

/** Checks for imports whose pushes need a person. */
export const pushChecks: readonly (readonly [string, Check])[] = [
  ['pushes', examineSenders],
  ['pushed bytes', examineBytes],
  ['opt-outs', examineOptOuts],
]

/** Imports with a sender whose last pushes were all refused. */
async function examineSenders(client: pg.Client): Promise<Finding> {
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

/** Imports that have received most of the bytes of today. */
async function examineBytes(client: pg.Client): Promise<Finding> {
  const name = 'pushed bytes'
  const { rows } = await client.query<{ organization: string; import: string; bytes: string; max: string }>(
    `select 'org_' || replace(organization_id::text, '-', '') as organization,
       'imp_' || replace(import_id::text, '-', '') as import, sum(bytes)::text as bytes, max(max_bytes)::text as max
     from import_pushed_bytes where counted_on = date_trunc('day', now(), 'UTC') group by organization_id, import_id
     having sum(bytes) >= ${alarmingShare} * max(max_bytes) order by sum(bytes) desc`,
  )
  const [first] = rows
  if (!first) return { name, state: 'ok', message: 'no import is near its limit of today' }
  const count = rows.length === 1 ? '1 import has' : `${formatCount(rows.length)} imports have`
  const message = `${count} received at least ${alarmingShare * 100} % of the bytes of today: ${first.import} of ${first.organization} has received ${first.bytes} of ${first.max}`
  const advice =
    'Its pushes are refused until midnight (UTC) when the limit is reached. Ask the organization who pushes; its owner can rotate the URL. IMPORT_BYTES_PER_DAY sets the limit.'
  return { name, state: 'note', message, advice }
}

/** Imports whose opt-outs wait for a person, because there were many within an hour: not of deleted contacts and notes. */
export async function examineOptOuts(client: pg.Client): Promise<Finding> {
  const name = 'opt-outs'
  const { rows } = await client.query<{ count: number; imports: number }>(
    `select count(*)::int as count, count(distinct (opt_out.organization_id, opt_out.import_id))::int as imports
     from suggestions opt_out
     join contacts contact on contact.organization_id = opt_out.organization_id and contact.id = opt_out.contact_id
       and contact.deleted_at is null
     join notes note on note.organization_id = opt_out.organization_id and note.id = opt_out.note_id
       and note.deleted_at is null
     where opt_out.waiting_reason = 'many_opt_outs' and opt_out.status = 'pending'`,
  )
  const { count = 0, imports = 0 } = rows[0] ?? {}
  if (count === 0) return { name, state: 'ok', message: 'no opt-out of an import waits for a person' }
  const ofImports = `${formatCount(imports)} ${imports === 1 ? 'import' : 'imports'}`
  const message = `${formatCount(count)} opt-outs of ${ofImports} wait for a person, because many contacts were opted out within an hour`
  const advice =
    'The organization decides on them under Suggestions. If it does not know who pushed them, it disables the import.'
  return { name, state: 'note', message, advice }
}
