import type pg from 'pg'
import type { Config } from '../config.ts'
import { formatBounded, formatCount, formatDuration } from './progress.ts'
import type { Finding } from './finding.ts'

/** Seconds for which a note may wait while a service is running. */
const maxLagSeconds = 15 * 60
const maxCounted = 100_000

/** Reports which engine analyses notes, how many wait, and how often the model did not answer. */
export async function examineNotes(
  client: pg.Client,
  { reasoningUrl, reasoningModel }: Pick<Config, 'reasoningUrl' | 'reasoningModel'>,
): Promise<Finding> {
  const name = 'notes'
  const engine =
    reasoningUrl === undefined ? 'the built-in rules' : `${reasoningModel} at ${new URL(reasoningUrl).host}`
  const { waiting, lag } = await readQueue(client)
  const message = `analysed by ${engine}; ${formatBounded(waiting, maxCounted)} waiting`
  if (lag > maxLagSeconds) {
    const advice =
      'Check that a service with ROLE=work or ROLE=all, and REASONING_CONCURRENCY above 0, is running; it analyses the notes.'
    return { name, state: 'wrong', message: `${message}, the oldest for ${formatDuration(lag)}`, advice }
  }
  const { degraded, reason } = reasoningUrl === undefined ? { degraded: 0, reason: null } : await readFailures(client)
  if (degraded === 0) return { name, state: 'ok', message }
  const advice = `The rules answered instead. Last reason: ${reason}. Check REASONING_URL and REASONING_TOKENS_PER_DAY.`
  return { name, state: 'note', message: `${message}; ${formatCount(degraded)} without the model within a day`, advice }
}

async function readQueue(client: pg.Client): Promise<{ waiting: number; lag: number }> {
  const { rows } = await client.query<{ waiting: number; lag: number }>(
    `select count(*)::int as waiting, coalesce(extract(epoch from now() - min(reasoning_queued_at)), 0)::float8 as lag
     from (select reasoning_queued_at from notes where reasoning_queued_at is not null and deleted_at is null
       limit ${maxCounted + 1}) queued`,
  )
  return rows[0] ?? { waiting: 0, lag: 0 }
}

async function readFailures(client: pg.Client): Promise<{ degraded: number; reason: string | null }> {
  const { rows } = await client.query<{ degraded: number; reason: string | null }>(
    `select count(*)::int as degraded, (array_agg(degraded_reason order by created_at desc))[1] as reason
     from note_analyses where degraded and created_at > now() - interval '1 day'`,
  )
  return rows[0] ?? { degraded: 0, reason: null }
}
