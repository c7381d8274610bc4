import type { Logger } from 'pino'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import { type Loop, pause, startLoop, withJitter } from '../../platform/background/loop.ts'
import type { Database } from '../../platform/database/database.ts'
import { encodeId } from '../../platform/model/ids.ts'
import {
  findDueDeletions,
  removeFromDirectory,
  removeOrganization,
  removeRows,
  tablesOfOrganizations,
} from './removal-store.ts'

export interface RemovalOptions {
  database: Database
  log: Pick<Logger, 'info'>
  /** Tables that belong to the directory (`places.ts`). */
  directory: readonly string[]
}

/** Milliseconds between checks for organizations to remove. */
const interval = 10 * 60_000
/** Rows per step. Between steps, others have three quarters of the connection's time. */
const batchSize = 200
const pauseRatio = 3

/** Deletes organizations after their period of grace: every row in every table, then the organization. */
export const createOrganizationRemoval = ({
  ready,
  log,
  ...options
}: RemovalOptions & { log: Logger; ready: Promise<unknown> }): Loop =>
  startLoop({
    ready,
    retryMilliseconds: interval,
    onError: (error) => log.error(errorForLog(error), 'deleting an organization failed; it will be retried'),
    run: async (signal) => {
      await removeDueOrganizations({ ...options, log }, signal)
      return withJitter(interval)
    },
  })

/** Can be interrupted and repeated at any point, also by several processes at once. */
export async function removeDueOrganizations(options: RemovalOptions, signal: AbortSignal): Promise<void> {
  const { database, log } = options
  const due = await findDueDeletions(database)
  if (due.length === 0) return
  const tables = await tablesOfOrganizations(database)
  for (const organizationId of due) {
    // Again until nothing is left: until its members are gone, their log-ins still write events.
    for (let isEmpty = false; !isEmpty && !signal.aborted;) {
      isEmpty = true
      for (const table of tables) if (await removeFrom(table, organizationId, options, signal)) isEmpty = false
    }
    if (signal.aborted) return
    await removeOrganization(database, organizationId)
    log.info({ organization: encodeId('org', organizationId) }, 'an organization was deleted with everything in it')
  }
}

/** Whether the table had rows of the organization. */
async function removeFrom(
  table: string,
  organizationId: string,
  { database, directory }: RemovalOptions,
  signal: AbortSignal,
): Promise<boolean> {
  if (signal.aborted) return true
  if (directory.includes(table)) return (await removeFromDirectory(database, table, organizationId)) > 0
  let hadRows = false
  for (;;) {
    const began = performance.now()
    const removed = await removeRows(database, { table, organizationId, limit: batchSize })
    hadRows ||= removed > 0
    if (removed < batchSize || signal.aborted) return hadRows
    await pause(pauseRatio * (performance.now() - began), signal)
  }
}
