import { readFile } from 'node:fs/promises'
import { isServerUser } from './server-account.ts'

async function ownerName(uid: number): Promise<string> {
  const accounts = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const line = accounts.split('\n').find((text) => text.split(':')[2] === String(uid))
  return line?.split(':')[0] || `#${uid}`
}

/** How to run this command as the user that owns the data folder: never a change of the owner, for a service may run. */
export async function runAsOwner(uid: number, dataFolder: string, purpose: Purpose): Promise<string> {
  const name = isServerUser(uid) ? 'root' : await ownerName(uid)
  if (purpose === 'service') return `Start the service as ${name}.`
  const user = name.startsWith('#') ? `'${name}'` : name
  return `Run this command as ${name}: \`sudo -u ${user} DATA_DIR=${quote(dataFolder)} ${purpose}\``
}

const quote = (path: string): string => (/[^\w./@+-]/.test(path) ? `'${path.replaceAll("'", `'\\''`)}'` : path)

/** Who opens the database: the one service of a data folder, or a short command. */
export type Purpose = 'service' | `rapport ${string}`
