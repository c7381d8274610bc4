import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// This file lies as deep below the root as the bundle in server/dist that it becomes part of.

/** The folder of the migrations that belong to this code. */
export const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url))

/** The version that package.json names. */
export function version(): string {
  const file = new URL('../../package.json', import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
