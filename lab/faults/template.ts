import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../shared/free-port.ts'
import { makeFaultsPlace } from './place.ts'
import { type Account, bootstrap, startService } from '../shared/service.ts'

/** What a service left that was started, bootstrapped and stopped; copies of it save doing so again. */
export interface Template {
  dataFolder: string
  secret: string
  account: Account
  remove(): Promise<void>
}

export async function makeTemplate(root: string): Promise<Template> {
  const place = await makeFaultsPlace(root)
  const options = { port: await freePort(), dataFolder: join(place.folder, 'data') }
  const service = await startService(place, options)
  const account = await bootstrap(place, options, 'Faults')
  await service.stop()
  const secret = (await readFile(join(options.dataFolder, 'secret'), 'utf8')).trim()
  return { dataFolder: options.dataFolder, secret, account, remove: () => place.remove() }
}

/** `cp` keeps whose it is. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}
