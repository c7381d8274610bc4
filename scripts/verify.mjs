// `npm run verify`: installs what is missing, then tests what surrounds the product: benchmark, faults, fuzzing, planted
// mistakes, costs, guides, packages, images, the second engine, and Citus. The last line shows the totals.
import './node-version.mjs'
import { citusObstacle, shortTests } from './citus.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'
import { add, hasDebianPostgres, missing, runSuite, skip, summarize } from './suite.mjs'

await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
await summarize(async () => {
  const isOnBoth = hasDebianPostgres()
  if (!isOnBoth) missing('PostgreSQL 15 or newer is not under /usr/lib/postgresql: only the embedded one was tested')
  add(await runSuite('verify', isOnBoth ? 'both' : 'embedded'))
  await verifyCitus()
})

/** Citus is not a package of Debian, so that a machine without it lacks nothing; but what is announced must work. */
async function verifyCitus() {
  const obstacle = citusObstacle()
  if (obstacle === undefined) return add(await runSuite('citus', 'citus', shortTests))
  if (process.env.CITUS_FILES) return missing(`${obstacle}: nothing ran on Citus`)
  skip(`${obstacle}: nothing ran on Citus (CONTRIBUTING.md)`)
}
