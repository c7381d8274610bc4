import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeStale } from './global-setup.ts'
import { temporaryFolders } from './memory-folder.ts'

async function createLeftover(runner: number, parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, 'rapport-test-'))
  await writeFile(join(folder, 'runner'), String(runner))
  return folder
}

test('leftovers of a killed run are removed from every temporary folder, those of a live run are not', async () => {
  const { pid: deadProcess } = spawnSync(process.execPath, ['--version'])
  const stale = await Promise.all(temporaryFolders().map((parent) => createLeftover(deadProcess, parent)))
  const living = await Promise.all(temporaryFolders().map((parent) => createLeftover(process.pid, parent)))
  try {
    removeStale()
    expect(stale.filter((folder) => existsSync(folder))).toEqual([])
    expect(living.filter((folder) => !existsSync(folder))).toEqual([])
  } finally {
    await Promise.all([...stale, ...living].map((folder) => rm(folder, { recursive: true, force: true })))
  }
})
