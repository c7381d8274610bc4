// The tests that run on Citus: a coordinator and two workers, which server/test/citus.ts starts.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** For each `npm run verify`: what only Citus can break, in less than 90 seconds. */
export const shortTests = [
  ...['remote-commands', 'writes', 'feed', 'crashes', 'idle', 'doctor'].map(
    (name) => `server/test/citus-${name}.test.ts`,
  ),
]

/** For `npm run test:citus`: what must give the same results on Citus as on a single PostgreSQL. Parts of paths. */
export const allTests = [
  'server/test/citus-',
  // Conformance of each route and list, and the border between organizations
  ...['every-', 'tenancy.test', 'reach'].map((name) => `server/test/${name}`),
  // Laws of lists, filters and searches
  ...['page/lists.laws', 'filter/filter-trees', 'page/search.laws', 'filter/relations', 'rendering/rendered'].map(
    (name) => `server/src/platform/records/${name}`,
  ),
  ...['feed', 'stream', 'purges', 'order', 'feed-visibility'].map((name) => `server/src/feed/${name}.test`),
  ...['inbox/inbox', 'inbox/entries', 'presence/presence'].map((name) => `server/src/${name}.test`),
  ...['webhooks', 'replay'].map((name) => `server/src/webhooks/${name}.test`),
  ...['http/effects/idempotency', 'queue/', 'operations/backup/backup'].map((name) => `server/src/platform/${name}`),
  // Logins, sessions, credentials, people, mails and the audit log
  'server/src/api/erasure-sending',
  'server/src/identity',
  ...[
    'intake',
    'assistant',
    ...['notes', 'contacts', 'companies', 'deals', 'tasks', 'campaigns'].map((name) => `crm/${name}`),
  ].map((name) => `server/src/${name}`),
]

/** Why tests cannot run on Citus; undefined if they can. */
export function citusObstacle() {
  const files = process.env.CITUS_FILES
  if (!files) return 'CITUS_FILES is not set'
  for (const part of ['lib', 'extension'])
    if (!existsSync(join(files, part))) return `CITUS_FILES names ${files}, which has no folder ${part}`
  if (!existsSync('/usr/lib/postgresql/15/bin/postgres')) return 'postgresql-15 is not under /usr/lib/postgresql'
  return undefined
}
