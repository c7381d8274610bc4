// Shared by `npm test` and `npm run verify`: runs a part of the suite (vitest.config.ts), counts the results, and
// repeats failures and missing requirements at the end.
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { exit } from './exit.mjs'
import { root, runTool } from './run.mjs'

const mustBeComplete = Boolean(process.env.CI)

const total = { passed: 0, failed: 0, skipped: 0 }
const remarks = []
const folder = mkdtempSync(join(tmpdir(), 'rapport-test-results-'))
// If this run is killed, a later run finds its process id here and removes the folder (server/test/global-setup.ts).
writeFileSync(join(folder, 'runner'), String(process.pid))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

/** Adds the counts of a check or of a part of the suite to the totals. */
export function add(counts) {
  for (const kind of Object.keys(total)) total[kind] += counts[kind]
}

/** Counts a skip that is permitted on any machine. */
export function skip(reason) {
  total.skipped++
  remarks.push(`Skipped: ${reason}.`)
}

/** Counts a skip with its reason or, in CI, where nothing may be missing, a failure. */
export function missing(reason) {
  if (!mustBeComplete) return skip(reason)
  total.failed++
  remarks.push(`FAILED: ${reason}.`)
}

/** Calls it with a file descriptor and prints its output in one piece, because the suite prints at the same time. */
export async function inOnePiece(work) {
  const file = join(folder, 'output')
  const output = openSync(file, 'w')
  try {
    return await work(output)
  } finally {
    closeSync(output)
    process.stdout.write(readFileSync(file, 'utf8'))
  }
}

/** Runs a part of the suite on an engine (server/test/global-setup.ts), or only the given files. */
export async function runSuite(suite, engine, chosen = []) {
  const file = join(folder, `results-${suite}-${engine}.json`)
  const options = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`, ...chosen]
  const code = await runTool('vitest/vitest.mjs', options, { environment: { SUITE: suite, TEST_ENGINE: engine } })
  return countsOf(file, code)
}

/** Runs it, prints the remarks and the totals, and exits with the exit code. */
export async function summarize(work) {
  await work()
  for (const remark of remarks) console.log(remark)
  if (total.passed === 0) console.log('Nothing was tested.')
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
  await exit(total.failed > 0 || total.passed === 0 ? 1 : 0)
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

/** Whether a PostgreSQL from Debian is installed that the suite can use. */
export function hasDebianPostgres() {
  const folder = '/usr/lib/postgresql'
  return (
    existsSync(folder) &&
    readdirSync(folder).some((version) => Number(version) >= 15 && existsSync(join(folder, version, 'bin/postgres')))
  )
}
