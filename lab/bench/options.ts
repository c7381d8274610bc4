import { flag, positiveNumber, text, UsageError, parseValues, wholeNumber } from '../shared/command.ts'

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
  /** Processes of the service; every row is measured with each number of them. */
  processes: readonly number[]
  /** Pushed rows that wait for the work, at each round. */
  queue: number
  /** Parts of the names of the rows to measure; none of them means every row. */
  rows: readonly string[]
  /** URL of an empty database to use instead of the embedded one. */
  database: string | undefined
  /** A file for the figures, as JSON. */
  json: string | undefined
  /** A file for a chart of the figures, as SVG. */
  chart: string | undefined
  /** The JSON of an earlier run: nothing is measured, and only the chart is drawn. */
  from: string | undefined
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
  --processes <list>     processes of the service (1); "1,2" measures every row with one and with two
  --queue <number>       pushed rows that are processed in one round (10,000)
  --row <text>           only the rows with this in their name ("page", "contains", "create"); may be given repeatedly
  --database <url>       an empty database of a PostgreSQL on this machine, instead of the embedded one; as a superuser
  --seconds <number>     seconds of one measurement (3)
  --rounds <number>      turns that service, floor and driver take on each row (3)
  --json <file>          write the figures as JSON
  --chart <file>         draw the figures as an SVG
  --from <file>          draw the chart from the JSON of an earlier run, and measure nothing
  --profile <folder>     keep a CPU profile of the service there (it costs some speed)
  --help                 show this`

/** Reads the command line; undefined when it asks for help. Errors: `UsageError`. */
export function readOptions(args: readonly string[]): BenchOptions | undefined {
  const values = parseValues(args, {
    quick: flag,
    contacts: text,
    organizations: text,
    connections: text,
    processes: text,
    queue: text,
    row: { ...text, multiple: true },
    seconds: text,
    rounds: text,
    database: text,
    json: text,
    chart: text,
    from: text,
    profile: text,
  })
  if (values.help) return undefined
  if (values.from !== undefined && values.chart === undefined) throw new UsageError('--from requires --chart')
  const quick = values.quick ?? false
  return {
    contacts: wholeNumber('contacts', values.contacts, quick ? 100_000 : 1_000_000),
    organizations: wholeNumber('organizations', values.organizations, 20),
    seconds: positiveNumber('seconds', values.seconds, quick ? 1 : 3),
    rounds: wholeNumber('rounds', values.rounds, 3),
    connections: values.connections?.split(',').map((each) => wholeNumber('connections', each, 1)),
    processes: (values.processes ?? '1').split(',').map((each) => wholeNumber('processes', each, 1)),
    queue: wholeNumber('queue', values.queue, quick ? 4000 : 10_000),
    rows: values.row ?? [],
    database: values.database,
    json: values.json,
    chart: values.chart,
    from: values.from,
    profile: values.profile,
  }
}
