import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../shared/free-port.ts'
import { createFaultsWorkspace } from './workspace.ts'
import { type Account, bootstrap, startService } from '../shared/service.ts'

/** Data of a service that was bootstrapped and stopped. Copying it is faster than bootstrapping again. */
export interface Template {
  dataFolder: string
  secret: string
  account: Account
  remove(): Promise<void>
}

export async function createTemplate(root: string): Promise<Template> {
  const workspace = await createFaultsWorkspace(root)
  const options = { port: await freePort(), dataFolder: join(workspace.folder, 'data') }
  const service = await startService(workspace, options)
  const account = await bootstrap(workspace, options, 'Faults')
  await service.stop()
  const secret = (await readFile(join(options.dataFolder, 'secret'), 'utf8')).trim()
  return { dataFolder: options.dataFolder, secret, account, remove: () => workspace.remove() }
}

/** Uses `cp`, which preserves ownership. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}
