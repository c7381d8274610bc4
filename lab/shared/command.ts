import { parseArgs, type ParseArgsConfig } from 'node:util'
import { cleanUp } from './cleanup.ts'

/** A mistake on the command line; the message says which. */
export class UsageError extends Error {}

/** A command of those who work on the service: `npm run bench` and its like. */
export interface Command<Options> {
  help: string
  /** Undefined when the words ask for help. Errors: `UsageError`. */
  readOptions(args: readonly string[]): Options | undefined
  /** Resolves to the exit code. Errors: `UsageError`, for what the options alone do not tell. */
  run(options: Options): Promise<number>
}

/**
 * Runs a command until it is done, has failed or is interrupted, and then undoes what it left (cleanup.ts). Resolves to
 * the exit code: 2 for a mistake on the command line, 1 for whatever else went wrong.
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

/** A terminal and npm may both send a signal: further ones must not keep us from cleaning up. */
function listenForSignals(): { interrupted: Promise<never>; stopListening(): void } {
  const signals = ['SIGINT', 'SIGTERM'] as const
  let interrupt: (signal: NodeJS.Signals) => void = () => undefined
  const interrupted = new Promise<never>((_, reject) => {
    interrupt = (signal) => reject(new Error(signal))
  })
  // Whoever does not wait for it is not told.
  interrupted.catch(() => undefined)
  for (const signal of signals) process.on(signal, interrupt)
  return { interrupted, stopListening: () => signals.forEach((signal) => process.off(signal, interrupt)) }
}

export const text = { type: 'string' } as const
export const flag = { type: 'boolean' } as const

/** The values of these options, `help` among them. Errors: `UsageError`. */
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

/** Errors: `UsageError`, for what is no whole number or below `least`. */
export function wholeNumber(name: string, input: string | undefined, defaultValue: number, min = 1): number {
  const value = input === undefined ? defaultValue : parseNumber(input)
  if (!(Number.isSafeInteger(value) && value >= min))
    throw new UsageError(`--${name} takes a whole number from ${min} on.`)
  return value
}

/** Errors: `UsageError`, for what is no number above 0. */
export function positiveNumber(name: string, input: string | undefined, defaultValue: number): number {
  const value = input === undefined ? defaultValue : parseNumber(input)
  if (!(value > 0 && Number.isFinite(value))) throw new UsageError(`--${name} takes a number above 0.`)
  return value
}

/** `100_000` and `100,000` are numbers; no text at all is none. */
const parseNumber = (input: string): number =>
  input.trim() === '' ? Number.NaN : Number(input.replaceAll(/[_,](?=\d{3}(?!\d))/g, ''))
