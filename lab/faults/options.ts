import { text, parseValues, wholeNumber } from '../shared/command.ts'

/** Options of a run. */
export interface FaultOptions {
  /** Kills in the first scenario. */
  cycles: number
  /** Determines the times and targets; printed at the start, so that a run can be repeated. */
  seed: number
  /** Part of the names of the scenarios to run; empty for all. */
  only: string
  /** A file for the figures, as JSON. */
  json: string | undefined
}

export const help = `npm run faults -- [options]

Injects faults into the environment of the service under load, and then checks the data. Each scenario starts a service
and a database in a temporary folder and prints figures. The exit code is 1 if a guarantee was broken;
docs/reliability.md lists them.

  --cycles <number>   number of kills with SIGKILL (100)
  --seed <number>     repeat the random choices of an earlier run (random; printed)
  --only <text>       only the scenarios with this in their name
  --json <file>       write the figures as JSON
  --help              show this`

/** Parses the command line; undefined for `--help`. Errors: `UsageError`. */
export function parseOptions(args: readonly string[]): FaultOptions | undefined {
  const values = parseValues(args, { cycles: text, seed: text, only: text, json: text })
  if (values.help) return undefined
  return {
    cycles: wholeNumber('cycles', values.cycles, 100),
    seed: wholeNumber('seed', values.seed, 1 + Math.floor(Math.random() * 999_999)),
    only: values.only ?? '',
    json: values.json,
  }
}
