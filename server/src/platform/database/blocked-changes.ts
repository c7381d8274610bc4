import { type Sql, sql } from '../model/sql.ts'

/** A session that makes others wait, or holds a lock on a table that prevents changes. */
export interface Blocker {
  /** 0: a prepared transaction. */
  pid: number
  name: string | null
  user: string | null
  state: string | null
  /** How long its transaction has been open; null if this role cannot see it. */
  seconds: number | null
  /** Sessions that wait for it, and for how long the first one has. */
  sessions: number
  longest: number | null
  /** Locks that prevent changes. */
  locks: string | null
}

/** Sessions that have blocked others, or all changes of a table, for more than these seconds. */
export const blockersSql = (seconds: number): Sql => sql`
  with blocked as (
    select blocker, count(distinct pid)::int as sessions,
      extract(epoch from clock_timestamp() - min(waitstart))::int as longest
    from pg_locks cross join unnest(pg_blocking_pids(pid)) blocker where not granted and locktype <> 'advisory' group by blocker
  ), held as (
    select pid, string_agg(distinct mode || ' on ' || relation::regclass, ', ') as locks from pg_locks
    where granted and locktype = 'relation' and relation >= 16384
      and database = (select oid from pg_database where datname = current_database())
      and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    group by pid
  )
  select activity.pid, application_name as name, usename as user, state,
    extract(epoch from clock_timestamp() - xact_start)::int as seconds,
    coalesce(sessions, 0) as sessions, longest, locks
  from pg_stat_activity activity left join blocked on blocker = activity.pid left join held on held.pid = activity.pid
  where datname = current_database() and activity.pid <> pg_backend_pid() and (blocker is not null or locks is not null)
    and coalesce(clock_timestamp() - xact_start > make_interval(secs => ${seconds}), true)
    and cardinality(pg_blocking_pids(activity.pid)) = 0
  union all
  select 0, 'prepared transaction', null, null, null, sessions, longest, null from blocked
  where blocker = 0 and longest > ${seconds}
  order by sessions desc, seconds desc nulls last`

/** Commands whose single transaction takes as long as the database is large. */
export const isRapportCommand = (name: string | null): boolean =>
  /^rapport (backup|restore|migrate|demo|secret)\b/.test(name ?? '')

/** Who makes others wait, for how long. */
export function describeBlocker({ pid, name, user, state, seconds, sessions, longest, locks }: Blocker): string {
  const who = [name || 'unnamed', user && `user ${user}`, state, seconds !== null && `for ${seconds} s`].filter(Boolean)
  const held = locks === null ? '' : ` holds ${locks}`
  const waiting = sessions === 0 ? '' : `${sessions} ${sessions === 1 ? 'session waits' : 'sessions wait'} for it`
  const since = longest === null || sessions === 0 ? '' : `, since ${longest} s`
  return `process ${pid} (${who.join(', ')})${held}${held && waiting ? '; ' : waiting && ': '}${waiting}${since}`
}

export const endingAdvice = (blockers: readonly Blocker[], isEmbedded: boolean): string =>
  blockers
    .map(({ pid }) => {
      if (pid === 0) return "Find it with `select gid from pg_prepared_xacts`, then: rollback prepared '<gid>';"
      const statement = `select pg_terminate_backend(${pid});`
      return isEmbedded ? `kill ${pid} (or in psql: ${statement})` : statement
    })
    .join(' ')
