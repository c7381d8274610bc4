// `npm run check`: types, lint, format, architecture, language, and the generated files.
import './node-version.mjs'
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { writeApiTypes } from './api-types.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { Refusal, exitOnRefusal } from './refusal.mjs'
import { root, runTool } from './run.mjs'

/** They need nothing but the packages. */
export const checks = [
  { name: 'types', run: (options) => runTool('typescript-native/bin/tsc', ['-p', '.'], options) },
  { name: 'types of the web application', run: checkWebTypes },
  { name: 'lint', run: (options) => runTool('oxlint/bin/oxlint', ['--deny-warnings', '.'], options) },
  { name: 'format', run: (options) => runTool('oxfmt/bin/oxfmt', ['--list-different', '.'], options) },
]

async function checkWebTypes(options) {
  try {
    await writeApiTypes()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    print(error.message, options.output)
    return 1
  }
  return runTool('typescript-native/bin/tsc', ['-p', 'web'], options)
}

const sourceTests = ['architecture', 'language', 'commit-subjects'].map((name) => `server/test/${name}.test.ts`)

/** They parse all sources, once in one worker, and need no database, so they run without the suite. */
export const architecture = {
  name: 'architecture and language',
  run: (options) =>
    runTool('vitest/vitest.mjs', ['run', '--maxWorkers=1', ...sourceTests], {
      ...options,
      environment: { TEST_ENGINE: 'none' },
    }),
}

/** The generated documents must match the committed ones, and the migrations must match the declarations. */
const generated = {
  name: 'generated files and migrations',
  run: () => runTool('../scripts/generate.mjs', ['check']),
}

/** Runs all checks one after the other and counts the results. `output`: a file descriptor for their output. */
export async function runChecks(chosen, output = 'inherit') {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const { name, run } of chosen) {
    const passed = (await run({ output })) === 0
    counts[passed ? 'passed' : 'failed']++
    print(`${passed ? 'ok' : 'FAILED'}: ${name}`, output)
  }
  return counts
}

const print = (line, output) => (output === 'inherit' ? console.log(line) : void writeSync(output, `${line}\n`))

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
  const { failed } = await runChecks([...checks, architecture, generated])
  await exit(failed > 0 ? 1 : 0)
}
