import pg from 'pg'
import { until } from './processes.ts'

/** Steps of a push and its processing, in order, at which the database can be paused. */
const steps = [
  /** The transaction that inserts the rows commits. */
  'accepting',
  /** The transaction that claims rows commits. */
  'claiming',
  /** The first contact is about to be written. */
  'writing',
  /** Everything is written, including the final states of the rows. */
  'finishing',
  /** The transaction of the processing commits. */
  'committing',
] as const
export type Step = (typeof steps)[number]

/** Class of the advisory locks that show which backend is paused at which step. */
const lockClass = 4711

/** Creates the triggers that pause. A pause ignores the statement timeout, which occurs once. */
const setup = `
  create table breakpoints (step int primary key);
  create function pause(step int) returns void language plpgsql as $$
  begin
    if not exists (select from breakpoints where breakpoints.step = pause.step) then return; end if;
    perform pg_advisory_lock_shared(${lockClass}, step);
    while exists (select from breakpoints where breakpoints.step = pause.step) loop
      begin perform pg_sleep(0.01); exception when query_canceled then null; end;
    end loop;
    perform pg_advisory_unlock_shared(${lockClass}, step);
  end $$;
  create function pause_at() returns trigger language plpgsql as $$ begin perform pause(tg_argv[0]::int); return new; end $$;
  create constraint trigger accepting after insert on import_rows deferrable initially deferred
    for each row execute function pause_at(${steps.indexOf('accepting')});
  create constraint trigger claiming after update on import_rows deferrable initially deferred
    for each row when (new.status = 'PROCESSING') execute function pause_at(${steps.indexOf('claiming')});
  create trigger writing before insert on contacts
    for each row execute function pause_at(${steps.indexOf('writing')});
  create trigger finishing after update on import_rows
    for each row when (old.lease is not null and new.finished_at is not null)
    execute function pause_at(${steps.indexOf('finishing')});
  create constraint trigger committing after update on import_rows deferrable initially deferred
    for each row when (old.lease is not null and new.finished_at is not null)
    execute function pause_at(${steps.indexOf('committing')});`

/** A PostgreSQL backend that is paused at a breakpoint. */
export interface PausedBackend {
  /** Its process id. */
  pid: number
  /** The `application_name` of its service. */
  service: string
}

export interface Breakpoints {
  pauseAt(step: Step): Promise<void>
  resume(step: Step): Promise<void>
  /** Waits until a backend is paused at the step. */
  untilPausedAt(step: Step): Promise<PausedBackend>
  /** Waits until backends of all these services are paused at the step. */
  untilAllPausedAt(step: Step, services: readonly string[]): Promise<void>
  /** Terminates the connections of a service, as PostgreSQL does when it notices that the client is gone. */
  disconnect(service: string): Promise<void>
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  end(): Promise<void>
}

/** Creates the breakpoints in a test's database, all inactive. */
export async function createBreakpoints(connection: pg.ClientConfig): Promise<Breakpoints> {
  const breakpoints = await connectBreakpoints(connection)
  await breakpoints.query(setup)
  return breakpoints
}

/** Connects to the existing breakpoints of a database. */
export async function connectBreakpoints(connection: pg.ClientConfig): Promise<Breakpoints> {
  const client = new pg.Client({ ...connection, application_name: 'test breakpoints' })
  client.on('error', () => undefined)
  await client.connect()
  const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await client.query<Row & pg.QueryResultRow>(text, values)).rows
  const pausedAt = (step: Step): Promise<PausedBackend[]> =>
    query<PausedBackend>(
      `select pid, application_name as service from pg_locks join pg_stat_activity using (pid)
        where locktype = 'advisory' and classid = ${lockClass} and objid = $1 and objsubid = 2 and granted
          and database = (select oid from pg_database where datname = current_database())`,
      [steps.indexOf(step)],
    )
  return {
    query,
    pauseAt: async (step) => void (await query('insert into breakpoints values ($1)', [steps.indexOf(step)])),
    resume: async (step) => void (await query('delete from breakpoints where step = $1', [steps.indexOf(step)])),
    untilPausedAt: async (step) => {
      let found: PausedBackend | undefined
      await until(`a backend is paused at ${step}`, async () => {
        ;[found] = await pausedAt(step)
        return found !== undefined
      })
      if (!found) throw new Error('no backend is paused')
      return found
    },
    untilAllPausedAt: (step, services) =>
      until(`${services.join(' and ')} are paused at ${step}`, async () => {
        const found = new Set((await pausedAt(step)).map(({ service }) => service))
        return services.every((service) => found.has(service))
      }),
    disconnect: async (service) => {
      const gone = `application_name = $1 and datname = current_database()`
      await query(`select pg_terminate_backend(pid) from pg_stat_activity where ${gone}`, [service])
      await until('its connections are gone', async () => {
        const rows = await query(`select from pg_stat_activity where ${gone}`, [service])
        return rows.length === 0
      })
    },
    end: () => client.end(),
  }
}
