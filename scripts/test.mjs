// `npm test`: installs what is missing, then checks, the whole suite on the embedded PostgreSQL, and the files that use
// a database once more on Debian's. Its last line counts everything.
import './node-version.mjs'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { runChecks } from './check.mjs'
import { ensureInstalled } from './install.mjs'
import { refusing } from './refusal.mjs'
import { root, runTool } from './run.mjs'

const mustBeComplete = Boolean(process.env.CI)

/**
 * They need a database, and which one makes no difference to what they look at: processes and connections that end, the
 * command line, documents, and what is decided before a statement is sent.
 */
const sameOnEach = new Set(
  `account-page admission audited backup-ends cli-import cli-user command-line cookies cors-compression docker examine-mail
  fuzz hostile http-headers http-order imports-crashes imports-outages imports-poison login-load logs mail-delivery openapi
  outages planted-fault planted-fault-work rate-limits scopes second-factors-browser second-factors-limits
  second-factors-passkeys second-factors.laws secrets-at-rest security-headers security-recovery security-sessions
  single-sign-on single-sign-on-hostile single-sign-on-page start swagger typed-client`
    .split(/\s+/)
    .map((name) => `${name}.test.ts`),
)
const total = { passed: 0, failed: 0, skipped: 0 }
const remarks = []

await refusing(() => ensureInstalled(root, { development: true, say: console.log }))
add(await runChecks())
add(await runSuite('embedded', []))
if (hasDebianPostgres()) add(await runSuite('debian', filesThatUseDatabases()))
else missing('PostgreSQL 15 or newer is not under /usr/lib/postgresql: the suite ran on the embedded one alone')
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

async function runSuite(engine, files) {
  console.log(`\nThe suite on ${engine === 'debian' ? "Debian's" : 'the embedded'} PostgreSQL`)
  const folder = mkdtempSync(join(tmpdir(), 'rapport-results-'))
  const file = join(folder, 'results.json')
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
    const code = await runTool('vitest/vitest.mjs', ['run', ...reporters, ...files], { TEST_ENGINE: engine })
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
  const left = found.filter((file) => !sameOnEach.has(basename(file)))
  if (found.length - left.length !== sameOnEach.size) {
    throw new Error('Test files that use a database were not found; the search for them must be broken.')
  }
  return left
}

function importsOf(file) {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const code = text.replaceAll(/^import type [^']*'[^']*'/gm, '')
  return [...code.matchAll(/(?:from|import) '(\.{1,2}\/[^']+)'/g)].map(([, path]) => join(dirname(file), path))
}
