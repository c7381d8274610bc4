import { UsageError } from './command.ts'
import { promptLine } from './prompt.ts'

/** What the option of a command that cannot be undone says. */
export const confirmOption = (what: string) =>
  ['--confirm <text>', `${what}, typed again; without it, the command asks for it on the terminal`] as const

/** Continues only if the exact text is typed, as an option or on the terminal. Error: `UsageError`. */
export async function assertConfirmed(text: string, given: string | undefined): Promise<void> {
  const typed = given ?? (await ask(text))
  if (typed === text) return
  throw new UsageError(`Nothing was changed: expected exactly "${text}", found "${typed}".`)
}

async function ask(text: string): Promise<string> {
  const { stdin: input, stderr: output } = process
  if (!input.isTTY) throw new UsageError(`Confirm with --confirm "${text}".`)
  return promptLine(`Type "${text}" to continue: `, { input, output, signal: new AbortController().signal })
}
