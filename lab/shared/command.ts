import { parseArgs, type ParseArgsConfig } from 'node:util'
import { cleanUp } from './cleanup.ts'

/** An invalid command line. */
export class UsageError extends Error {}

/** A command for developers of the service, such as `npm run bench`. */
export interface Command<Options> {
  help: string
  /** Returns undefined for `--help`. Errors: `UsageError`. */
  readOptions(args: readonly string[]): Options | undefined
  /** Resolves to the exit code. Errors: `UsageError`, for what can be checked only at run time. */
  run(options: Options): Promise<number>
}

/**
 * Runs a command until it finishes, fails or is interrupted, and then runs the cleanups (cleanup.ts). Resolves to the
 * exit code: 2 for an invalid command line, 1 for any other error.
 */
export async function runCommand<Options>(
  args: readonly string[],
  { help, readOptions, run }: Command<Options>,
): Promise<number> {
  const interruption = listenForSignals()
  try {
    const options = readOptions(args)
    if (options) return await Promise.race([run(options), interruption.interrupted])
    console.log(help)
    return 0
  } catch (error) {
    console.error(error instanceof UsageError ? `${error.message}\n\n${help}` : error)
    return error instanceof UsageError ? 2 : 1
  } finally {
    await cleanUp()
    interruption.stopListening()
  }
}

/** A terminal and npm may both send a signal; the second one must not stop the cleanup. */
function listenForSignals(): { interrupted: Promise<never>; stopListening(): void } {
  const signals = ['SIGINT', 'SIGTERM'] as const
  let interrupt: (signal: NodeJS.Signals) => void = () => undefined
  const interrupted = new Promise<never>((_, reject) => {
    interrupt = (signal) => reject(new Error(signal))
  })
  // Without a handler, a rejection that nobody awaits would end the process.
  interrupted.catch(() => undefined)
  for (const signal of signals) process.on(signal, interrupt)
  return { interrupted, stopListening: () => signals.forEach((signal) => process.off(signal, interrupt)) }
}

export const text = { type: 'string' } as const
export const flag = { type: 'boolean' } as const

/** Parses these options and `--help`. Errors: `UsageError`. */
export function parseValues<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options: { ...options, help: { ...flag, short: 'h' } } }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Errors: `UsageError` unless it is a whole number of at least `min`. */
export function wholeNumber(name: string, input: string | undefined, defaultValue: number, min = 1): number {
  const value = input === undefined ? defaultValue : parseNumber(input)
  if (!(Number.isSafeInteger(value) && value >= min))
    throw new UsageError(`--${name} takes a whole number of at least ${min}.`)
  return value
}

/** Errors: `UsageError` unless it is a number above 0. */
export function positiveNumber(name: string, input: string | undefined, defaultValue: number): number {
  const value = input === undefined ? defaultValue : parseNumber(input)
  if (!(value > 0 && Number.isFinite(value))) throw new UsageError(`--${name} takes a number above 0.`)
  return value
}

/** Accepts `100_000` and `100,000`; an empty text is not a number. */
const parseNumber = (input: string): number =>
  input.trim() === '' ? Number.NaN : Number(input.replaceAll(/[_,](?=\d{3}(?!\d))/g, ''))
