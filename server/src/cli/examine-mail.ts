import type pg from 'pg'
import type { Config } from '../config.ts'
import { formatCount } from './progress.ts'
import type { Finding } from './finding.ts'

interface MailCounts {
  waiting: number
  stored: number
  /** Within the last 24 hours. */
  failed: number
  reason: string | null
  /** Seconds by which the oldest waiting mail is overdue. */
  lag: number
}

/** Seconds by which a mail may be overdue while a service is running. */
const maxLagSeconds = 15 * 60

/** Reports where mails go, how many wait, and the last failure. */
export async function examineMail(client: pg.Client, { smtpUrl }: Pick<Config, 'smtpUrl'>): Promise<Finding> {
  const name = 'mail'
  const { waiting, stored, failed, reason, lag } = await countMails(client)
  if (!smtpUrl) {
    const message = `SMTP_URL is not set; ${stored === 1 ? '1 mail is' : `${formatCount(stored)} mails are`} stored`
    const advice = 'Owners can read them at GET /v5/mails. Set SMTP_URL and MAIL_FROM to send new ones.'
    return { name, state: 'note', message, advice }
  }
  const message = `sent through ${smtpUrl.host}:${smtpUrl.port}; ${formatCount(waiting)} waiting, ${formatCount(failed)} failed within a day`
  if (lag > maxLagSeconds)
    return {
      name,
      state: 'wrong',
      message,
      advice: 'Check that a service with ROLE=work or ROLE=all is running; it sends the mails.',
    }
  if (reason === null) return { name, state: 'ok', message }
  return { name, state: 'note', message, advice: `Last failure: ${reason}. See the log.` }
}

async function countMails(client: pg.Client): Promise<MailCounts> {
  const { rows } = await client.query<MailCounts>(
    `select count(*) filter (where status = 'queued')::int as waiting,
       count(*) filter (where status = 'kept')::int as stored,
       count(*) filter (where status = 'failed' and ended_at > now() - interval '1 day')::int as failed,
       (array_agg(last_error order by updated_at desc) filter (
         where last_error is not null and status in ('queued', 'failed') and updated_at > now() - interval '1 day'))[1]
         as reason,
       coalesce(extract(epoch from now() - min(run_at)), 0)::float8 as lag
     from mails`,
  )
  const [row] = rows
  if (!row) throw new Error('an aggregate is always one row')
  return row
}
