// `npm test`: installs what is missing, then runs the checks and, at the same time, the tests of the product on the
// PostgreSQL of Debian. The last line shows the totals.
import './node-version.mjs'
import { existsSync } from 'node:fs'
import { runChecks } from './check.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'
import { add, hasDebianPostgres, inOnePiece, missing, runSuite, summarize } from './suite.mjs'

await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
await summarize(async () => {
  const isOnDebian = hasDebianPostgres()
  if (!isOnDebian)
    missing('PostgreSQL 15 or newer is not under /usr/lib/postgresql: the suite ran only on the embedded one')
  // In parallel, because neither the checks nor the suite use both cores all the time.
  const [checked, tested] = await Promise.all([
    inOnePiece((output) => runChecks(undefined, output)),
    runSuite('test', isOnDebian ? 'debian' : 'embedded'),
  ])
  add(checked)
  add(tested)
  // As in server/test/chromium.ts.
  const browsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', process.env.CHROMIUM_PATH ?? '']
  if (!browsers.some((path) => existsSync(path)))
    missing('There is neither /usr/bin/chromium nor the program of CHROMIUM_PATH: no test ran in a browser')
})
