import pg from 'pg'
import { until } from './processes.ts'

/** Steps of a push and of the work on it at which the database can be made to wait, in their order. */
const steps = [
  /** Rows are inserted, their transaction commits. */
  'accepting',
  /** A worker has taken rows, the transaction of that commits. */
  'claiming',
  /** The first contact is about to be written. */
  'writing',
  /** All is written, the rows' own ends too. */
  'ending',
  /** The transaction of the work commits. */
  'committing',
] as const
export type Step = (typeof steps)[number]

/** Of all advisory locks these, which tell who waits at which step. */
const lockClass = 4711

/**
 * Waits while its gate is closed. The statement's timeout, which would end the wait and the test's precision with it,
 * comes once and is swallowed.
 */
const setup = `
  create table gates (step int primary key);
  create function pass(step int) returns void language plpgsql as $$
  begin
    if not exists (select from gates where gates.step = pass.step) then return; end if;
    perform pg_advisory_lock_shared(${lockClass}, step);
    while exists (select from gates where gates.step = pass.step) loop
      begin perform pg_sleep(0.01); exception when query_canceled then null; end;
    end loop;
    perform pg_advisory_unlock_shared(${lockClass}, step);
  end $$;
  create function pass_gate() returns trigger language plpgsql as $$ begin perform pass(tg_argv[0]::int); return new; end $$;
  create constraint trigger accepting after insert on import_rows deferrable initially deferred
    for each row execute function pass_gate(${steps.indexOf('accepting')});
  create constraint trigger claiming after update on import_rows deferrable initially deferred
    for each row when (new.status = 'PROCESSING') execute function pass_gate(${steps.indexOf('claiming')});
  create trigger writing before insert on contacts
    for each row execute function pass_gate(${steps.indexOf('writing')});
  create trigger ending after update on import_rows
    for each row when (old.lease is not null and new.finished_at is not null)
    execute function pass_gate(${steps.indexOf('ending')});
  create constraint trigger committing after update on import_rows deferrable initially deferred
    for each row when (old.lease is not null and new.finished_at is not null)
    execute function pass_gate(${steps.indexOf('committing')});`

/** Someone who waits at a closed gate. */
export interface PausedBackend {
  /** The PostgreSQL process. */
  pid: number
  /** Which service it is of, where each has its own name. */
  service: string
}

export interface Breakpoints {
  pauseAt(step: Step): Promise<void>
  resume(step: Step): Promise<void>
  /** Waits until someone waits there. */
  untilPausedAt(step: Step): Promise<PausedBackend>
  /** Waits until these services wait there at once. */
  untilAllPausedAt(step: Step, services: readonly string[]): Promise<void>
  /** Ends the connections of a service, as PostgreSQL does itself once it sees that the client is gone. */
  disconnect(service: string): Promise<void>
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  end(): Promise<void>
}

/** Gates in the test's own database, all open at first. */
export async function createBreakpoints(connection: pg.ClientConfig): Promise<Breakpoints> {
  const breakpoints = await connectBreakpoints(connection)
  await breakpoints.query(setup)
  return breakpoints
}

/** Those that a database has, for whoever lost the connection to it. */
export async function connectBreakpoints(connection: pg.ClientConfig): Promise<Breakpoints> {
  const client = new pg.Client({ ...connection, application_name: 'the gatekeeper' })
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
    pauseAt: async (step) => void (await query('insert into gates values ($1)', [steps.indexOf(step)])),
    resume: async (step) => void (await query('delete from gates where step = $1', [steps.indexOf(step)])),
    untilPausedAt: async (step) => {
      let found: PausedBackend | undefined
      await until(`someone waits at ${step}`, async () => {
        ;[found] = await pausedAt(step)
        return found !== undefined
      })
      if (!found) throw new Error('nobody waits')
      return found
    },
    untilAllPausedAt: (step, services) =>
      until(`${services.join(' and ')} wait at ${step}`, async () => {
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
