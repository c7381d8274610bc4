import { readdir, readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { startLoop } from '../background/loop.ts'
import { ApiError } from '../model/errors.ts'
import { sql } from '../model/sql.ts'
import { type Blocker, blockersSql, describeBlocker, endingAdvice, isRapportCommand } from './blocked-changes.ts'
import type { Database } from './database.ts'
import type { ProblemLog } from './problem-log.ts'
import { problemOf, problemOfKind } from './problems.ts'

export interface WatchOptions {
  database: Database
  log: Logger
  problems: ProblemLog
  isEmbedded: boolean
  /** Set in one of several processes, so that what concerns all of them is logged once. */
  isFirst: boolean
  ready: Promise<unknown>
}

export interface DatabaseWatch {
  /** Are changes waiting for a session that blocks them? */
  areChangesWaiting(): boolean
  close(): Promise<void>
}

const interval = 5000
/** Seconds for which a session may block others. */
const blockingTime = 5
/** Milliseconds by which the clocks of the service and the database may differ. */
const clockTolerance = 60_000
const maxShareOfFiles = 0.9

/** Checks every few seconds what needs a person, and logs it once as an error with its cause. */
export function watchDatabase({ database, log, problems, isEmbedded, isFirst, ready }: WatchOptions): DatabaseWatch {
  let isWaiting = false
  let reported: readonly string[] = []
  const examineBlockers = (blockers: readonly Blocker[]) => {
    isWaiting = blockers.length > 0
    if (!isFirst) return
    const others = blockers.filter(({ name }) => !isRapportCommand(name))
    const kinds = others.map(({ pid }) => `blocker ${pid}`)
    problems.recovered(reported.filter((kind) => !kinds.includes(kind)))
    reported = kinds
    for (const blocker of others) {
      const cause = `Changes wait: ${describeBlocker(blocker)}.`
      problems.report({
        kind: `blocker ${blocker.pid}`,
        cause,
        remedy: `End it: ${endingAdvice([blocker], isEmbedded)}`,
      })
    }
    if (isWaiting && others.length === 0) log.debug({ blockers }, 'changes wait for a command of Rapport')
  }
  const examineClock = (skew: number) => {
    if (!isFirst || Math.abs(skew) <= clockTolerance) return
    const difference = `${Math.round(Math.abs(skew) / 1000)} s ${skew < 0 ? 'behind' : 'ahead of'} the clock of the database`
    const remedy = 'Correct the wrong one and synchronize both with NTP: logins, links and limits depend on the time.'
    problems.report({ kind: 'clocks', cause: `The clock of this machine is ${difference}.`, remedy })
  }
  const loop = startLoop({
    ready,
    retryMilliseconds: interval,
    onError: (error) => {
      const isTimeout = error instanceof ApiError && error.code === 'timeout'
      const problem = problemOf(error) ?? (isTimeout ? problemOfKind('unresponsive') : undefined)
      if (problem) problems.report(problem, error)
      else log.error({ err: error }, 'database: the check failed')
    },
    run: async () => {
      const before = Date.now()
      const [clock] = await database.crossTenantQuery<{ now: number }>(
        'check the database',
        sql`select extract(epoch from clock_timestamp())::float8 * 1000 as now`,
      )
      problems.recovered(['unavailable', 'unresponsive', 'connections', 'credentials'])
      examineClock((before + Date.now()) / 2 - (clock?.now ?? before))
      examineBlockers(await database.crossTenantQuery<Blocker>('check the database', blockersSql(blockingTime)))
      await examineFiles(problems)
      problems.expire()
      return interval
    },
  })
  return { areChangesWaiting: () => isWaiting, close: () => loop.close() }
}

/** Node closes further connections silently when no file can be opened. */
async function examineFiles(problems: ProblemLog): Promise<void> {
  const files = await openFiles('self')
  if (files === undefined || files.open < files.limit * maxShareOfFiles) return
  const cause = `This process has ${files.open} of at most ${files.limit} files open.`
  problems.report({ ...problemOfKind('open files'), cause })
}

/** The open files of a process and its limit, on Linux. */
export async function openFiles(pid: number | 'self'): Promise<{ open: number; limit: number } | undefined> {
  try {
    const limits = await readFile(`/proc/${pid}/limits`, 'utf8')
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1])
    return Number.isNaN(limit) ? undefined : { open: (await readdir(`/proc/${pid}/fd`)).length, limit }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EMFILE') throw error
    return undefined
  }
}
