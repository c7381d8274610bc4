import { flag, positive, text, valuesOf, whole } from '../tools/command.ts'

/** What one run of the benchmark does. */
export interface BenchOptions {
  contacts: number
  organizations: number
  /** Seconds of one measurement. */
  seconds: number
  /** How often service, floor and driver take turns on each row. */
  rounds: number
  /** Connections at a time; undefined leaves them to each row. */
  connections: readonly number[] | undefined
  /** Pushed rows that wait for the work, at each round. */
  queue: number
  /** Parts of the names of the rows to measure; none of them means every row. */
  rows: readonly string[]
  /** A file for the figures, as JSON. */
  json: string | undefined
  /** A folder for a CPU profile of the service, made by Node itself. */
  profile: string | undefined
}

export const help = `npm run bench -- [options]

Starts the service on a database of its own in a temporary folder, fills it, and measures it beside its floor, a bare
route of the same framework that runs the same statements, and beside the driver alone. docs/benchmarks.md explains the
columns.

  --quick                100,000 contacts and short rounds, about eight minutes
  --contacts <number>    contacts in all (1,000,000), half of them in the organization that is measured
  --organizations <n>    organizations in all (20)
  --connections <list>   connections at a time, instead of each row's own: 1 and 16, "push" at 64 too, "push, while rows are
                         processed" at 64 only; "rows processed" has none
  --queue <number>       pushed rows that are processed in one round (10,000)
  --row <text>           only the rows with this in their name ("page", "contains", "create"); may be given repeatedly
  --seconds <number>     seconds of one measurement (3)
  --rounds <number>      turns that service, floor and driver take on each row (3)
  --json <file>          write the figures as JSON
  --profile <folder>     keep a CPU profile of the service there (it costs some speed)
  --help                 show this`

/** Reads the command line; undefined when it asks for help. Errors: `UsageError`. */
export function readOptions(words: readonly string[]): BenchOptions | undefined {
  const values = valuesOf(words, {
    quick: flag,
    contacts: text,
    organizations: text,
    connections: text,
    queue: text,
    row: { ...text, multiple: true },
    seconds: text,
    rounds: text,
    json: text,
    profile: text,
  })
  if (values.help) return undefined
  const quick = values.quick ?? false
  return {
    contacts: whole('contacts', values.contacts, quick ? 100_000 : 1_000_000),
    organizations: whole('organizations', values.organizations, 20),
    seconds: positive('seconds', values.seconds, quick ? 1 : 3),
    rounds: whole('rounds', values.rounds, 3),
    connections: values.connections?.split(',').map((each) => whole('connections', each, 1)),
    queue: whole('queue', values.queue, quick ? 4000 : 10_000),
    rows: values.row ?? [],
    json: values.json,
    profile: values.profile,
  }
}
