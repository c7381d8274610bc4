import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Test files that run on both engines, because collation, plans, statistics or dumps differ. Every other file runs once:
 * on Debian's PostgreSQL, the oldest supported version, if it uses a database; else with the embedded engine.
 */
const filesOnBothEngines = new Set(
  `backup columns company contacts examine-database external-ids filters fold lists lists.laws maintenance
  maintenance-plans maintenance.laws migrate plans postgres rendered rows-plans statistics team-contacts values
  import-workers`
    .split(/\s+/)
    .map((name) => `${name}.test.ts`),
)

/** The test files that run on Debian's PostgreSQL if the suite runs on both engines, and those that run only there. */
export function filesOnDebian(): { all: string[]; debianOnly: string[] } {
  const all = filesThatUseDatabases()
  const missing = [...filesOnBothEngines].filter((name) => !all.some((file) => basename(file) === name))
  if (missing.length > 0) throw new Error(`No test file that uses a database has the name ${missing.join(' or ')}.`)
  return { all, debianOnly: all.filter((file) => !filesOnBothEngines.has(basename(file))) }
}

/** The test files that reach postgres.ts through their imports. */
function filesThatUseDatabases(): string[] {
  const reaches = new Map<string, boolean>()
  const uses = (file: string): boolean => {
    if (file === join(root, 'server/test/postgres.ts')) return true
    const known = reaches.get(file)
    if (known !== undefined) return known
    reaches.set(file, false)
    const found = importsOf(file).some(uses)
    reaches.set(file, found)
    return found
  }
  return ['server', 'lab']
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, String(name))),
    )
    .filter((file) => file.endsWith('.test.ts') && uses(file))
    .map((file) => relative(root, file))
}

function importsOf(file: string): string[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const code = text.replaceAll(/^import type [^']*'[^']*'/gm, '')
  return [...code.matchAll(/(?:from|import) '(\.{1,2}\/[^']+)'/g)].map(([, path = '']) => join(dirname(file), path))
}
