import { flag, positiveNumber, text, UsageError, parseValues, wholeNumber } from '../shared/command.ts'

/** What one run of the benchmark does. */
export interface BenchOptions {
  contacts: number
  organizations: number
  /** Seconds per measurement. */
  seconds: number
  /** Turns of service, floor and driver for each row. */
  rounds: number
  /** Concurrent connections; undefined for each row's default. */
  connections: readonly number[] | undefined
  /** Numbers of service processes; every row is measured with each of them. */
  processes: readonly number[]
  /** Waiting rows that are processed in each round. */
  queue: number
  /** Parts of the names of the rows to measure; empty for all rows. */
  rows: readonly string[]
  /** URL of an empty database to use instead of the embedded one. */
  database: string | undefined
  /** A file for the figures, as JSON. */
  json: string | undefined
  /** A file for a chart of the figures, as SVG. */
  chart: string | undefined
  /** The JSON of an earlier run with fewer contacts, to compare with. */
  compare: string | undefined
  /** A folder for the filled database, so that later runs need not fill it again. */
  folder: string | undefined
  /** The JSON of an earlier run: nothing is measured, and only the chart is drawn. */
  from: string | undefined
  /** A folder for a CPU profile of the service (Node's `--cpu-prof`). */
  profile: string | undefined
}

export const help = `npm run bench -- [options]

Starts the service with a database in a temporary folder, fills it, and compares the service with its floor (a bare route
of the same framework that runs the same statements) and with the driver alone. docs/benchmarks.md explains the columns.

  --quick                100,000 contacts and short rounds, about eight minutes
  --contacts <number>    contacts in total (1,000,000), half of them in the measured organization
  --organizations <n>    organizations in total (20)
  --connections <list>   concurrent connections, such as "1,16"; by default 1 and 16, for "push" also 64, and for "push,
                         while rows are processed" only 64; "rows processed" uses none
  --processes <list>     service processes (1); "1,2" measures every row with one and with two
  --queue <number>       rows to process in one round (10,000)
  --row <text>           only the rows with this in their name ("page", "contains", "create"); may be given repeatedly
  --database <url>       an empty database on this machine instead of the embedded one; the user must be a superuser
  --folder <folder>      fill a database in this folder and keep it; a later run with the same folder measures it again
  --seconds <number>     seconds per measurement (3)
  --rounds <number>      turns of service, floor and driver for each row (3)
  --json <file>          write the figures as JSON
  --compare <file>       compare the p50 of each row with the JSON of an earlier run with fewer contacts
  --chart <file>         draw the figures as an SVG chart
  --from <file>          draw the chart from the JSON of an earlier run without measuring
  --profile <folder>     store a CPU profile of the service there (slows it down a little)
  --help                 show this`

/** Parses the command line; undefined for `--help`. Errors: `UsageError`. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
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
    compare: text,
    folder: text,
    from: text,
    profile: text,
  })
  if (values.help) return undefined
  if (values.from !== undefined && values.chart === undefined) throw new UsageError('--from requires --chart')
  if (values.folder !== undefined && values.database !== undefined)
    throw new UsageError('--folder keeps the embedded database, so that it cannot be combined with --database')
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
    compare: values.compare,
    folder: values.folder,
    from: values.from,
    profile: values.profile,
  }
}
