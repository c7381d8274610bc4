import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from './postmaster.ts'

/** What a running service tells the commands of its data folder. */
export interface RunningService {
  url: string
  pid: number
}

const fileName = 'service.json'

/** Written once the service listens. The answer takes it back, at a clean stop. */
export async function announceService(dataFolder: string, { url }: { url: string }): Promise<() => Promise<void>> {
  const file = join(dataFolder, fileName)
  const service: RunningService = { url, pid: process.pid }
  await writeFile(`${file}.new`, JSON.stringify(service), { mode: 0o600 })
  await rename(`${file}.new`, file)
  return async () => {
    if ((await findService(dataFolder))?.pid === process.pid) await rm(file, { force: true })
  }
}

/** The service that runs on this data folder, or undefined; the note of a dead one does not count. */
export async function findService(dataFolder: string): Promise<RunningService | undefined> {
  try {
    const service = JSON.parse(await readFile(join(dataFolder, fileName), 'utf8')) as RunningService
    return isAlive(service.pid) ? service : undefined
  } catch {
    return undefined
  }
}
