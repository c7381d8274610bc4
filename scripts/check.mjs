// `npm run check`: types, lint, format, the rules of server/test/architecture.test.ts, and what follows from the code.
import './node-version.mjs'
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { isReadOnly } from './lock.mjs'
import { refusing } from './refusal.mjs'
import { root, runTool } from './run.mjs'

/** What was found to be right: looked at again when it, or what it was held against, has changed. */
const found = join(root, 'node_modules/.cache/rapport')

const checks = [
  { name: 'types', run: checkTypes },
  { name: 'lint', run: (to) => runTool('oxlint/bin/oxlint', ['--deny-warnings', '.'], to) },
  { name: 'format', run: checkFormat },
]

/** Also one of the suite's files, and so not run once more by `npm test`; it needs no database. */
const architecture = {
  name: 'architecture',
  run: () =>
    runTool('vitest/vitest.mjs', ['run', 'server/test/architecture.test.ts'], { environment: { TEST_ENGINE: 'none' } }),
}

function checkTypes(to) {
  const file = fileFor('types.json')
  const memory = file ? ['--incremental', '--tsBuildInfoFile', file] : []
  return runTool('typescript/bin/tsc', ['-p', '.', ...memory], to)
}

async function checkFormat(to) {
  const file = fileFor('format.json')
  const memory = file ? ['--cache', '--cache-strategy=content', '--cache-location', file] : []
  const code = await runTool('prettier/bin/prettier.cjs', ['--check', '--log-level=warn', ...memory, '.'], to)
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

/** What follows from the code is what is committed: documents, and the tables that the migrations make. */
const generated = {
  name: 'generated files and migrations',
  run: () => runTool('../scripts/generate.mjs', ['check']),
}

/** Runs the checks one after the other, each to its end, and counts them; what they say may go to a file (its descriptor). */
export async function runChecks(chosen = checks, output = 'inherit') {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { name, run } of chosen) {
    const passed = (await run({ output })) === 0
    counts[passed ? 'passed' : 'failed']++
    const line = `${passed ? 'ok' : 'FAILED'}: ${name}`
    if (output === 'inherit') console.log(line)
    else writeSync(output, `${line}\n`)
  }
  return counts
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await refusing(() => ensureInstalled(root, { development: true, say: console.log }))
  const { failed } = await runChecks([...checks, architecture, generated])
  await exit(failed > 0 ? 1 : 0)
}
