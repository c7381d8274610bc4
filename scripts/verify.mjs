// `npm run verify`: installs missing packages, then runs all tests besides those of the product: benchmark, faults,
// fuzzing, planted mistakes, costs, guides, packages, images, the second engine, and Citus. The last line shows the
// totals.
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

/** Citus is not a Debian package, so a machine may lack it; but if `CITUS_FILES` is set, it must work. */
async function verifyCitus() {
  const obstacle = citusObstacle()
  if (obstacle === undefined) return add(await runSuite('citus', 'citus', shortTests))
  if (process.env.CITUS_FILES) return missing(`${obstacle}: nothing ran on Citus`)
  skip(`${obstacle}: nothing ran on Citus (CONTRIBUTING.md)`)
}
