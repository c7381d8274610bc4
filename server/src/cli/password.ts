import { text } from 'node:stream/consumers'
import { UsageError } from './command.ts'

export interface PasswordOptions {
  password?: string | undefined
  passwordStdin?: boolean | undefined
}

/** The password from the option, standard input or the environment; otherwise asks on the terminal. */
export async function readPassword({ password, passwordStdin }: PasswordOptions): Promise<string> {
  if (password !== undefined && passwordStdin) throw new UsageError('Use --password or --password-stdin, not both.')
  if (password !== undefined) return password
  if (passwordStdin) return (await text(process.stdin)).replace(/\r?\n$/, '')
  const fromEnvironment = process.env['RAPPORT_PASSWORD']
  if (fromEnvironment) return fromEnvironment
  if (process.stdin.isTTY) return readHiddenLine('Password: ')
  throw new UsageError('A password is required: use --password, --password-stdin, RAPPORT_PASSWORD or a terminal.')
}

/** Reads a line from the terminal without echoing it. */
function readHiddenLine(question: string): Promise<string> {
  const { stdin, stderr } = process
  return new Promise((resolve, reject) => {
    let line = ''
    const finish = (complete: () => void) => {
      stdin.off('data', read).setRawMode(false).pause()
      stderr.write('\n')
      complete()
    }
    const read = (chunk: string) => {
      for (const character of chunk) {
        if (character === '\r' || character === '\n') return finish(() => resolve(line))
        if (character === '\u0003') return finish(() => reject(new UsageError('Cancelled.')))
        line = character === '\u007f' || character === '\b' ? line.slice(0, -1) : line + character
      }
    }
    stderr.write(question)
    stdin.setEncoding('utf8').setRawMode(true).on('data', read).resume()
  })
}
