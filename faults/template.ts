import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Account, bootstrap, freePort, makePlace, startService } from './place.ts'

/** What a service left that was started, bootstrapped and stopped; copies of it save doing so again. */
export interface Template {
  dataFolder: string
  secret: string
  account: Account
  remove(): Promise<void>
}

export async function makeTemplate(root: string): Promise<Template> {
  const place = await makePlace(root)
  const options = { port: await freePort(), dataFolder: join(place.folder, 'data') }
  const service = await startService(place, options)
  const account = await bootstrap(place, options)
  await service.stop()
  const secret = (await readFile(join(options.dataFolder, 'secret'), 'utf8')).trim()
  return { dataFolder: options.dataFolder, secret, account, remove: () => place.remove() }
}

/** `cp` keeps whose it is. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}
