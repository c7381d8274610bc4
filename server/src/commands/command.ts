import type { Command } from 'commander'
import { type Config, configWarnings, readConfig } from '../config.ts'

/** What a process of the command line ends with; a script may rely on it. */
export const exitCodes = {
  0: 'done',
  1: 'the command failed, or the doctor found a problem',
  2: 'the command line is invalid',
  3: 'the configuration is invalid or the start was refused; the message says why and what to do',
} as const
export type ExitCode = keyof typeof exitCodes

/** A fault of the command line that only its action can see. */
export class UsageError extends Error {}

/** The command was understood and could not be done; the message says why. */
export class Failure extends Error {}

/** Ends a command early with an exit code of its own, its words already said. */
export class CommandExit extends Error {
  readonly code: ExitCode
  constructor(code: ExitCode) {
    super('ended')
    this.code = code
  }
}

/** Standard output is the command's answer; what happens meanwhile goes to standard error. */
export function printResult(text: string): void {
  endBarLine()
  process.stdout.write(`${text}\n`)
}
export function printMessage(text: string): void {
  endBarLine()
  process.stderr.write(`${text}\n`)
}

const clearLine = '\r\u001b[2K'
let hasBar = false

/** Draws a progress bar in the current line of the terminal, over the one before. What is printed next gets its own line. */
export function drawBar(bar: string): void {
  hasBar = true
  process.stderr.write(`${clearLine}${bar}`)
}

/** Removes the bar, so that what is printed next takes its line. */
export function removeBar(): void {
  if (hasBar) process.stderr.write(clearLine)
  hasBar = false
}

function endBarLine(): void {
  if (hasBar) process.stderr.write('\n')
  hasBar = false
}

/** The configuration of this process; names that look misspelt are told. */
export function configuration(): Config {
  const config = readConfig(process.env)
  for (const warning of configWarnings(process.env)) printMessage(`Warning: ${warning}`)
  return config
}

/** Adds an example and the exit codes to a command's help. */
export const withExample = (command: Command, example: string): Command =>
  command.addHelpText('after', () =>
    [
      '\nExample:',
      ...example.split('\n').map((line) => `  ${line}`),
      '\nExit codes:',
      ...Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`),
      '\nSettings are environment variables: see docs/configuration.md.',
    ].join('\n'),
  )
