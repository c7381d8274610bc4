import type pg from 'pg'
import {
  type Blocker,
  blockersSql,
  describeBlocker,
  endingAdvice,
  isRapportCommand,
} from '../platform/database/blocked-changes.ts'
import type { Finding } from './finding.ts'

/** Seconds for which a session may block others. */
const blockingTime = 3

/** Reports sessions that block others, for how long, and how to end them. */
export async function examineLocks(client: pg.Client, isEmbedded: boolean): Promise<Finding> {
  const name = 'locks'
  const { text, values } = blockersSql(blockingTime).render()
  const { rows } = await client.query<Blocker>(text, values)
  if (rows.length === 0) return { name, state: 'ok', message: `nobody blocks others for more than ${blockingTime} s` }
  const message = rows.map(describeBlocker).join('; ')
  const others = rows.filter((blocker) => !isRapportCommand(blocker.name))
  if (others.length === 0) {
    const advice = 'This belongs to Rapport and ends by itself. Until then, changes wait.'
    return { name, state: 'note', message, advice }
  }
  const advice = `Until it ends, others wait. If it is forgotten, end it: ${endingAdvice(others, isEmbedded)}`
  return { name, state: 'wrong', message, advice }
}
