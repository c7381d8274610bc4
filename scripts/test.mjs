// `npm test`: installs what is missing, then checks, the whole suite, on the embedded PostgreSQL
// and on Debian's. Its last line counts everything.
import './node-version.mjs'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { runChecks } from './check.mjs'
import { ensureInstalled } from './install.mjs'
import { refusing } from './refusal.mjs'
import { root, runTool } from './run.mjs'

const mustBeComplete = Boolean(process.env.CI)

/**
 * What they look at depends on the engine (order of texts, plans, statistics, dumps), so they run on both. Every other file
 * runs once: with a database on Debian's PostgreSQL, the oldest that is supported, since what that takes a newer one takes
 * too.
 */
const onBoth = new Set(
  `backup columns company contacts examine-database external-ids filters fold lists lists.laws migrate plans postgres
  rendered rows-plans statistics team-contacts upkeep upkeep-plans upkeep.laws values work`
    .split(/\s+/)
    .map((name) => `${name}.test.ts`),
)

const total = { passed: 0, failed: 0, skipped: 0 }
const remarks = []

await refusing(() => ensureInstalled(root, { development: true, say: console.log }))
add(await runChecks())
const withDatabase = filesThatUseDatabases()
if (hasDebianPostgres()) {
  const once = withDatabase.filter((file) => !onBoth.has(basename(file)))
  add(await runSuite('embedded', { but: once }))
  add(await runSuite('debian', { only: withDatabase }))
} else {
  add(await runSuite('embedded', {}))
  missing('PostgreSQL 15 or newer is not under /usr/lib/postgresql: the suite ran on the embedded one alone')
}
if (!existsSync('/usr/bin/chromium')) missing('Chromium is not at /usr/bin/chromium: nothing ran in a browser')

for (const remark of remarks) console.log(remark)
if (total.passed === 0) console.log('Nothing was tested.')
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed > 0 || total.passed === 0 ? 1 : 0)

function add(counts) {
  for (const kind of Object.keys(total)) total[kind] += counts[kind]
}

/** On a user's machine one counted skip, with its reason; where everything has to be there, a failure. */
function missing(reason) {
  total[mustBeComplete ? 'failed' : 'skipped']++
  remarks.push(`${mustBeComplete ? 'FAILED' : 'Skipped'}: ${reason}.`)
}

async function runSuite(engine, { only = [], but = [] }) {
  console.log(`\nThe suite on ${engine === 'debian' ? "Debian's" : 'the embedded'} PostgreSQL`)
  const folder = mkdtempSync(join(tmpdir(), 'rapport-test-results-'))
  // So that another run knows, should this one be killed, whose it was, and removes it (server/test/global-setup.ts).
  writeFileSync(join(folder, 'runner'), String(process.pid))
  const file = join(folder, 'results.json')
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    const exceptions = but.map((name) => `--exclude=${name}`)
    const options = ['run', ...reporters, ...exceptions, ...only]
    const code = await runTool('vitest/vitest.mjs', options, { TEST_ENGINE: engine })
    return countsOf(file, code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
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

/** The test files that reach server/test/postgres.ts through their imports. */
function filesThatUseDatabases() {
  const reaches = new Map()
  const uses = (file) => {
    if (file === join(root, 'server/test/postgres.ts')) return true
    if (!reaches.has(file)) {
      reaches.set(file, false)
      reaches.set(file, importsOf(file).some(uses))
    }
    return reaches.get(file)
  }
  const files = ['server', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, String(name))),
  )
  const found = files.filter((file) => file.endsWith('.test.ts') && uses(file)).map((file) => relative(root, file))
  const lost = [...onBoth].filter((name) => !found.some((file) => basename(file) === name))
  if (lost.length > 0) throw new Error(`No test file that uses a database has the name ${lost.join(' or ')}.`)
  return found
}

function importsOf(file) {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const code = text.replaceAll(/^import type [^']*'[^']*'/gm, '')
  return [...code.matchAll(/(?:from|import) '(\.{1,2}\/[^']+)'/g)].map(([, path]) => join(dirname(file), path))
}
