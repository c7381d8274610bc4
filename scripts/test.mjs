// `npm test`: installs what is missing, then runs the checks and, at the same time, the tests of the product on the
// PostgreSQL of Debian, or with `--changed` those that a change concerns. The last line shows the totals.
import './node-version.mjs'
import { existsSync } from 'node:fs'
import { changedFiles, concernedTests, readCode } from './changed.mjs'
import { architecture, checks, runChecks } from './check.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root } from './run.mjs'
import { add, hasDebianPostgres, inOnePiece, missing, runSuite, summarize } from './suite.mjs'

const usage = `Usage: npm test [-- --changed]

Runs all checks and the tests of the product.

  --changed  only the tests that concern what changed since this branch left main, or on main since the last commit:
             a changed test, those that import a changed file, those of the web application for its files, and those that
             read documents for a document. A change of anything else, such as a migration, a script or a package,
             concerns all. Run all of them before a change lands.
  --help     print this`

const options = process.argv.slice(2)
if (options.includes('--help')) {
  console.log(usage)
  await exit(0)
}
const unknown = options.filter((option) => option !== '--changed')
if (unknown.length > 0) {
  console.error(`Unknown option: ${unknown.join(' ')}\n\n${usage}`)
  await exit(2)
}
const chosen = options.includes('--changed') ? chooseTests() : undefined

await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
await summarize(async () => {
  const isOnDebian = hasDebianPostgres()
  if (!isOnDebian)
    missing('PostgreSQL 15 or newer is not under /usr/lib/postgresql: the suite ran only on the embedded one')
  // In parallel, because neither the checks nor the suite use both cores all the time.
  const [checked, tested] = await Promise.all([
    inOnePiece((output) => runChecks([...checks, architecture], output)),
    runTests(isOnDebian ? 'debian' : 'embedded'),
  ])
  add(checked)
  add(tested)
  // As in server/test/chromium.ts.
  const browsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', process.env.CHROMIUM_PATH ?? '']
  if (!browsers.some((path) => existsSync(path)))
    missing('There is neither /usr/bin/chromium nor the program of CHROMIUM_PATH: no test ran in a browser')
})

/** All tests, or the chosen ones, which may all be among those that only `npm run verify` runs. */
async function runTests(engine) {
  if (chosen === undefined) return runSuite('test', engine)
  if (chosen.length === 0) return { passed: 0, failed: 0, skipped: 0 }
  return runSuite('test', engine, ['--passWithNoTests', ...chosen])
}

/** The tests that the change concerns; undefined for all. */
function chooseTests() {
  const changed = changedFiles()
  const tests = concernedTests(changed, readCode())
  console.log(`${tests === undefined ? 'All' : tests.length} test files concern the ${changed.length} changed files.`)
  return tests
}
