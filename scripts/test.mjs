// `npm test`: installs what is missing, then runs the checks and, at the same time, the whole suite on the embedded
// PostgreSQL and on Debian's. Its last line counts everything.
import './node-version.mjs'
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { runChecks } from './check.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { refusing } from './refusal.mjs'
import { root, runTool } from './run.mjs'

const mustBeComplete = Boolean(process.env.CI)

const total = { passed: 0, failed: 0, skipped: 0 }
const remarks = []

await refusing(() => ensureInstalled(root, { development: true, say: console.log }))
const isOnBoth = hasDebianPostgres()
if (!isOnBoth)
  missing('PostgreSQL 15 or newer is not under /usr/lib/postgresql: the suite ran on the embedded one alone')
const folder = mkdtempSync(join(tmpdir(), 'rapport-test-results-'))
// So that another run knows, should this one be killed, whose it was, and removes it (server/test/global-setup.ts).
writeFileSync(join(folder, 'runner'), String(process.pid))
try {
  // The checks leave the second core idle most of the time, and so does the suite now and then.
  const [checked, tested] = await Promise.all([check(), runSuite(isOnBoth ? 'both' : 'embedded')])
  add(checked)
  add(tested)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (!existsSync('/usr/bin/chromium')) missing('Chromium is not at /usr/bin/chromium: nothing ran in a browser')

for (const remark of remarks) console.log(remark)
if (total.passed === 0) console.log('Nothing was tested.')
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
await exit(total.failed > 0 || total.passed === 0 ? 1 : 0)

function add(counts) {
  for (const kind of Object.keys(total)) total[kind] += counts[kind]
}

/** On a user's machine one counted skip, with its reason; where everything has to be there, a failure. */
function missing(reason) {
  total[mustBeComplete ? 'failed' : 'skipped']++
  remarks.push(`${mustBeComplete ? 'FAILED' : 'Skipped'}: ${reason}.`)
}

/** Runs the checks beside the suite and prints what they said in one piece. */
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

async function runSuite(engine) {
  const file = join(folder, 'results.json')
  const options = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const code = await runTool('vitest/vitest.mjs', options, { environment: { TEST_ENGINE: engine } })
  return countsOf(file, code)
}

/**
 * A file that could not be loaded counts as one failure, and so does a run that failed without saying where. What failed
 * is told again at the end, where it is looked for.
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
