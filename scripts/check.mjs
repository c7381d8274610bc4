// `npm run check`: types, lint, format, architecture, language, and the generated files.
import './node-version.mjs'
import { accessSync, constants, existsSync, mkdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { isReadOnly } from './lock.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root, runTool } from './run.mjs'

/** Caches of the checks: a file is checked again only when it, or what it is checked against, has changed. */
const cacheFolder = join(root, 'node_modules/.cache/rapport')

const checks = [
  { name: 'types', run: checkTypes },
  { name: 'lint', run: (options) => runTool('oxlint/bin/oxlint', ['--deny-warnings', '.'], options) },
  { name: 'format', run: checkFormat },
]

const sourceTests = ['server/test/architecture.test.ts', 'server/test/language.test.ts']

/** Part of the test suite too, so `npm test` does not run it separately. It needs no database. */
const architecture = {
  name: 'architecture and language',
  run: () => runTool('vitest/vitest.mjs', ['run', ...sourceTests], { environment: { TEST_ENGINE: 'none' } }),
}

function checkTypes(options) {
  const file = cacheFileOf('types.json')
  const cacheOptions = file ? ['--incremental', '--tsBuildInfoFile', file] : []
  return runTool('typescript/bin/tsc', ['-p', '.', ...cacheOptions], options)
}

async function checkFormat(options) {
  const file = cacheFileOf('format.json')
  const cacheOptions = file ? ['--cache', '--cache-strategy=content', '--cache-location', file] : []
  const code = await runTool(
    'prettier/bin/prettier.cjs',
    ['--check', '--log-level=warn', ...cacheOptions, '.'],
    options,
  )
  // In this cache, a file that could not be parsed counts as formatted.
  if (file && code !== 0) rmSync(file, { force: true })
  return code
}

/** Cache file of a check; undefined if this user cannot write it, because another user ran the checks first. */
function cacheFileOf(name) {
  const file = join(cacheFolder, name)
  try {
    mkdirSync(cacheFolder, { recursive: true })
    for (const path of [cacheFolder, file]) if (existsSync(path)) accessSync(path, constants.W_OK)
    return file
  } catch (error) {
    if (!isReadOnly(error)) throw error
    return undefined
  }
}

/** The generated documents must match the committed ones, and the migrations must match the declarations. */
const generated = {
  name: 'generated files and migrations',
  run: () => runTool('../scripts/generate.mjs', ['check']),
}

/** Runs all checks one after the other and counts the results. Their output may go to a file descriptor. */
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
  await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
  const { failed } = await runChecks([...checks, architecture, generated])
  await exit(failed > 0 ? 1 : 0)
}
