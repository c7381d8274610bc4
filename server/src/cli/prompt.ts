import { createInterface } from 'node:readline'
import { UsageError } from './command.ts'

export interface PromptOptions {
  input: NodeJS.ReadableStream
  output: NodeJS.WritableStream
  /** Cancels the prompt like Ctrl-C. */
  signal: AbortSignal
}

/** Asks for a line on a terminal. Error: `UsageError` on Ctrl-C, Ctrl-D or the end of the input. */
export async function promptLine(question: string, { input, output, signal }: PromptOptions): Promise<string> {
  const terminal = createInterface({ input, output, terminal: true })
  const end = () => terminal.close()
  signal.addEventListener('abort', end)
  try {
    return await new Promise<string>((resolve, reject) => {
      terminal.once('close', () => reject(new UsageError('Cancelled.')))
      terminal.question(question, resolve)
      if (signal.aborted) end()
    })
  } finally {
    signal.removeEventListener('abort', end)
    terminal.close()
  }
}
