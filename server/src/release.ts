import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// This file is as deep below the root as the bundle in server/dist that it becomes part of.

/** Folder of the schema: the migrations of this code. */
export const migrationsFolder = fileURLToPath(new URL('../schema', import.meta.url))

/** Script that a worker process of `rapport start` runs. */
export const workerFile = fileURLToPath(new URL('../../scripts/worker.mjs', import.meta.url))

/** Script that the thread which reads notes runs. */
export const rulesFile = fileURLToPath(new URL('../dist/rules.js', import.meta.url))

/** The built web application, which the service serves. */
export const webFolder = fileURLToPath(new URL('../../web/dist', import.meta.url))

/** Contains the documents, which the service shows as pages. */
export const releaseFolder = fileURLToPath(new URL('../..', import.meta.url))

/** Identifies what was built by its sources; undefined if the code runs without being built. */
export function buildId(): string | undefined {
  try {
    const stamps = [new URL('build.json', import.meta.url), join(webFolder, 'build.json')]
    return stamps.map((file) => readFileSync(file, 'utf8')).join('\n')
  } catch {
    return undefined
  }
}

/** Version in package.json. */
export function version(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
