// `npm test`: installs what is missing, then runs the checks and, at the same time, the whole suite on the embedded
// PostgreSQL and on that of Debian. The last line shows the totals.
import './node-version.mjs'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { runChecks } from './check.mjs'
import { citusObstacle, shortTests } from './citus.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root, runTool } from './run.mjs'

const mustBeComplete = Boolean(process.env.CI)

const total = { passed: 0, failed: 0, skipped: 0 }
const remarks = []

await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
const isOnBoth = hasDebianPostgres()
if (!isOnBoth)
  missing('PostgreSQL 15 or newer is not under /usr/lib/postgresql: the suite ran only on the embedded one')
const folder = mkdtempSync(join(tmpdir(), 'rapport-test-results-'))
// If this run is killed, a later run finds its process id here and removes the folder (server/test/global-setup.ts).
writeFileSync(join(folder, 'runner'), String(process.pid))
try {
  // In parallel, because neither the checks nor the suite use both cores all the time.
  const [checked, tested] = await Promise.all([
    check(),
    runSuite(isOnBoth ? 'both' : 'embedded', ['--exclude=**/citus-*.test.ts']),
  ])
  add(checked)
  add(tested)
  await testOnCitus()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
// As in server/test/chromium.ts.
const browsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', process.env.CHROMIUM_PATH ?? '']
if (!browsers.some((path) => existsSync(path)))
  missing('There is neither /usr/bin/chromium nor the program of CHROMIUM_PATH: no test ran in a browser')

for (const remark of remarks) console.log(remark)
if (total.passed === 0) console.log('Nothing was tested.')
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
await exit(total.failed > 0 || total.passed === 0 ? 1 : 0)

function add(counts) {
  for (const kind of Object.keys(total)) total[kind] += counts[kind]
}

/** Counts a skip with its reason or, in CI, where nothing may be missing, a failure. */
function missing(reason) {
  total[mustBeComplete ? 'failed' : 'skipped']++
  remarks.push(`${mustBeComplete ? 'FAILED' : 'Skipped'}: ${reason}.`)
}

/** Runs the checks in parallel with the suite and prints their output in one piece. */
async function check() {
  const file = join(folder, 'checks')
  const output = openSync(file, 'w')
  try {
    return await runChecks(undefined, output)
  } finally {
    closeSync(output)
    process.stdout.write(readFileSync(file, 'utf8'))
  }
}

/** Citus is not a package of Debian, so that a machine without it lacks nothing; but what is announced must work. */
async function testOnCitus() {
  const obstacle = citusObstacle()
  if (obstacle === undefined) return add(await runSuite('citus', shortTests))
  if (process.env.CITUS_FILES) return missing(`${obstacle}: nothing ran on Citus`)
  total.skipped++
  remarks.push(`Skipped: ${obstacle}: nothing ran on Citus (CONTRIBUTING.md).`)
}

async function runSuite(engine, chosen) {
  const file = join(folder, `results-${engine}.json`)
  const options = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...chosen]
  const code = await runTool('vitest/vitest.mjs', options, { environment: { TEST_ENGINE: engine } })
  return countsOf(file, code)
}

/**
 * A file that could not be loaded counts as one failure, and so does a failed run without a failed test. Failures are
 * listed again at the end.
 */
function countsOf(file, code) {
  const results = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
  if (!results) return { passed: 0, failed: 1, skipped: 0 }
  const unloaded = results.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  ).length
  const failed = results.numFailedTests + unloaded
  for (const { name, assertionResults, status } of results.testResults) {
    const tests = assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName)
    if (status === 'failed')
      remarks.push(`FAILED: ${relative(root, name)}: ${tests.join('; ') || 'could not be loaded'}`)
  }
  return {
    passed: results.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: results.numPendingTests + results.numTodoTests,
  }
}

function hasDebianPostgres() {
  const folder = '/usr/lib/postgresql'
  return (
    existsSync(folder) &&
    readdirSync(folder).some((version) => Number(version) >= 15 && existsSync(join(folder, version, 'bin/postgres')))
  )
}
