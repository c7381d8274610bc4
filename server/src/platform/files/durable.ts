import { open, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file that only its owner reads. It appears complete or not at all, and survives a crash from then on. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, text, { mode: 0o600, flush: true })
  await rename(draft, path)
  await syncFolder(dirname(path))
}

/** A new, renamed or linked file is durable only once its folder is. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
