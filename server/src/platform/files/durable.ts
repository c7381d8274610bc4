import { open, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file that only its owner can read. It appears complete or not at all, and then survives a crash. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}`
  await writeFile(draft, text, { mode: 0o600, flush: true })
  await rename(draft, path)
  await syncFolder(dirname(path))
}

/** A new, renamed or linked file is durable only after its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  await handle.sync().finally(() => handle.close())
}
