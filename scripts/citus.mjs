// The tests that run on Citus: a coordinator and two workers, which server/test/citus.ts starts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** In each run of the suite: what only Citus can break, in less than 90 seconds. */
export const shortTests = ['server/test/citus-']

/** In `npm run test:citus`: what must give the same results on Citus as on a single PostgreSQL. */
export const allTests = [...shortTests]

/** Why nothing can run on Citus; undefined if it can. */
export function citusObstacle() {
  const files = process.env.CITUS_FILES
  if (!files) return 'CITUS_FILES is not set'
  for (const part of ['lib', 'extension'])
    if (!existsSync(join(files, part))) return `CITUS_FILES names ${files}, which has no folder ${part}`
  if (!existsSync('/usr/lib/postgresql/15/bin/postgres')) return 'postgresql-15 is not under /usr/lib/postgresql'
  return undefined
}
