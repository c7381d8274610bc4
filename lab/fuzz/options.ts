import { text, parseValues, wholeNumber } from '../shared/command.ts'

/** What one run does. */
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

Starts the service on a database of its own in a temporary folder, fills two organizations, and sends it requests drawn
from openapi.json: some as they should be, most of them changed in ways that hurt. Each answer is held against the
document. docs/fuzzing.md tells the laws. Exit code 1 when one is broken.

  --requests <number>     requests in all (100,000)
  --seed <number>         draws the same requests again (a new one each time)
  --first <number>        begin with this request of the seed (0); with --requests 1, that one alone
  --connections <number>  requests at a time (16)
  --json <file>           write the report as JSON
  --help                  show this`

/** Reads the command line; undefined when it asks for help. Errors: `UsageError`. */
export function readOptions(args: readonly string[]): FuzzOptions | undefined {
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
