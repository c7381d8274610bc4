import { text, parseValues, wholeNumber } from '../shared/command.ts'

/** Options of a run. */
export interface FuzzOptions {
  requests: number
  seed: number
  connections: number
  /** The number of the first request. */
  first: number
  /** A file for the report, as JSON. */
  json: string | undefined
}

export const help = `npm run fuzz -- [options]

Starts the service with a database in a temporary folder, fills two organizations, and sends random requests generated
from openapi.json. Some are valid; most are mutated. Each response is checked against the document and other rules, which
docs/fuzzing.md lists. The exit code is 1 if a rule was broken.

  --requests <number>     total number of requests (100,000)
  --seed <number>         generate the same requests again (default: random)
  --first <number>        start with this request of the seed (0); add --requests 1 to send only that one
  --connections <number>  concurrent requests (16)
  --json <file>           write the report as JSON
  --help                  show this`

/** Parses the command line; undefined for `--help`. Errors: `UsageError`. */
export function parseOptions(args: readonly string[]): FuzzOptions | undefined {
  const values = parseValues(args, { requests: text, seed: text, first: text, connections: text, json: text })
  if (values.help) return undefined
  return {
    requests: wholeNumber('requests', values.requests, 100_000, 1),
    seed: wholeNumber('seed', values.seed, Math.floor(Math.random() * 2 ** 31), 0),
    connections: wholeNumber('connections', values.connections, 16, 1),
    first: wholeNumber('first', values.first, 0, 0),
    json: values.json,
  }
}
