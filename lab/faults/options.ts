import { text, parseValues, wholeNumber } from '../shared/command.ts'

/** What one run does. */
export interface FaultOptions {
  /** Deaths of the first scenario. */
  cycles: number
  /** Decides what is done when; told at the beginning, so that a run can be repeated. */
  seed: number
  /** Part of the names of the scenarios to run; the empty text is part of every one. */
  only: string
  /** A file for the figures, as JSON. */
  json: string | undefined
}

export const help = `npm run faults -- [options]

Breaks what the service stands on, under load, and looks at what became of the data. Each scenario starts a service and a
database of its own in a temporary folder, prints figures, and fails the command when what we promise was not kept.
docs/reliability.md says what that is.

  --cycles <number>   deaths by kill -9 (100)
  --seed <number>     repeats the choices of an earlier run (random; printed)
  --only <text>       only the scenarios with this in their name
  --json <file>       write the figures as JSON
  --help              show this`

/** Reads the command line; undefined when it asks for help. Errors: `UsageError`. */
export function readOptions(args: readonly string[]): FaultOptions | undefined {
  const values = parseValues(args, { cycles: text, seed: text, only: text, json: text })
  if (values.help) return undefined
  return {
    cycles: wholeNumber('cycles', values.cycles, 100),
    seed: wholeNumber('seed', values.seed, 1 + Math.floor(Math.random() * 999_999)),
    only: values.only ?? '',
    json: values.json,
  }
}
