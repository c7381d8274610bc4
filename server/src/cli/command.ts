import type { Command } from 'commander'
import { type Config, configWarnings, parseConfig } from '../config.ts'
import { withInvocation } from './invocation.ts'

/** Exit codes of the command line. Scripts may rely on them. */
export const exitCodes = {
  0: 'done',
  1: 'the command failed, or the doctor found a problem',
  2: 'the command line is invalid',
  3: 'the configuration is invalid or the start was refused; the message says why and what to do',
} as const
export type ExitCode = keyof typeof exitCodes

/** An invalid command line that only the action of the command can detect. */
export class UsageError extends Error {}

/** The command is valid and could not be carried out; the message explains why. */
export class Failure extends Error {}

/** Ends a command early with this exit code, after it has printed everything. */
export class CommandExit extends Error {
  readonly code: ExitCode
  constructor(code: ExitCode) {
    super('ended')
    this.code = code
  }
}

/** The result goes to standard output; messages go to standard error. */
export function printResult(text: string): void {
  endBarLine()
  // JSON is for programs.
  process.stdout.write(`${text.startsWith('{') ? text : withInvocation(text)}\n`)
}
export function printMessage(text: string): void {
  endBarLine()
  process.stderr.write(`${withInvocation(text)}\n`)
}

const clearLine = '\r\u001b[2K'
let hasBar = false

/**
 * Draws a progress bar over the previous one, in the current line of the terminal. The next output starts on a new
 * line.
 */
export function drawBar(bar: string): void {
  hasBar = true
  process.stderr.write(`${clearLine}${bar}`)
}

/** Removes the bar; the next output replaces it. */
export function removeBar(): void {
  if (hasBar) process.stderr.write(clearLine)
  hasBar = false
}

function endBarLine(): void {
  if (hasBar) process.stderr.write('\n')
  hasBar = false
}

/** Reads the configuration of this process and warns of names that look misspelled. */
export function configuration(): Config {
  const config = parseConfig(process.env)
  for (const warning of configWarnings(process.env)) printMessage(`Warning: ${warning}`)
  return config
}

/** Adds an example and the exit codes to a command's help. */
export const withExample = (command: Command, example: string): Command =>
  command.addHelpText('after', () =>
    [
      '\nExample:',
      ...withInvocation(example)
        .split('\n')
        .map((line) => `  ${line}`),
      '\nExit codes:',
      ...Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`),
      '\nSettings are environment variables: see docs/configuration.md.',
    ].join('\n'),
  )
