import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// This file lies as deep below the root as the bundle in server/dist that it becomes part of.

/** The folder of the migrations that belong to this code. */
export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url))

/** What a worker process of `rapport start` runs. */
export const workerFile = fileURLToPath(new URL('../../scripts/worker.mjs', import.meta.url))

/** Tells the bundles of different sources apart; undefined where the code runs without being built. */
export function buildId(): string | undefined {
  try {
    return readFileSync(new URL('build.json', import.meta.url), 'utf8')
  } catch {
    return undefined
  }
}

/** The version that package.json names. */
export function version(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
