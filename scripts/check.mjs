// `npm run check`: types, lint, format, and the rules of server/test/architecture.test.ts.
import './node-version.mjs'
import { accessSync, constants, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureInstalled } from './install.mjs'
import { isReadOnly } from './lock.mjs'
import { refusing } from './refusal.mjs'
import { root, runTool } from './run.mjs'

/** What was found to be right: looked at again when it, or what it was held against, has changed. */
const found = join(root, 'node_modules/.cache/rapport')

const checks = [
  { name: 'types', run: checkTypes },
  { name: 'lint', run: () => runTool('oxlint/bin/oxlint', ['--deny-warnings', '.']) },
  { name: 'format', run: checkFormat },
]

/** Also one of the suite's files, and so not run once more by `npm test`; it needs no database. */
const architecture = {
  name: 'architecture',
  run: () => runTool('vitest/vitest.mjs', ['run', 'server/test/architecture.test.ts'], { TEST_ENGINE: 'none' }),
}

function checkTypes() {
  const file = fileFor('types.json')
  const memory = file ? ['--incremental', '--tsBuildInfoFile', file] : []
  return runTool('typescript/bin/tsc', ['-p', '.', ...memory])
}

async function checkFormat() {
  const file = fileFor('format.json')
  const memory = file ? ['--cache', '--cache-strategy=content', '--cache-location', file] : []
  const code = await runTool('prettier/bin/prettier.cjs', ['--check', '--log-level=warn', ...memory, '.'])
  // In there a file that could not be parsed counts as one that is formatted.
  if (file && code !== 0) rmSync(file, { force: true })
  return code
}

/** Where a check keeps what it found; undefined where this user cannot write, as another one has checked here first. */
function fileFor(name) {
  const file = join(found, name)
  try {
    mkdirSync(found, { recursive: true })
    for (const path of [found, file]) if (existsSync(path)) accessSync(path, constants.W_OK)
    return file
  } catch (error) {
    if (!isReadOnly(error)) throw error
    return undefined
  }
}

/** Runs the checks one after the other, each to its end, and counts them. */
export async function runChecks(chosen = checks) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { name, run } of chosen) {
    const passed = (await run()) === 0
    counts[passed ? 'passed' : 'failed']++
    console.log(`${passed ? 'ok' : 'FAILED'}: ${name}`)
  }
  return counts
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await refusing(() => ensureInstalled(root, { development: true, say: console.log }))
  const { failed } = await runChecks([...checks, architecture])
  process.exit(failed > 0 ? 1 : 0)
}
