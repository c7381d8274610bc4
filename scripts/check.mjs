// `npm run check`: types, lint, format, and the rules of server/test/architecture.test.ts.
import './node-version.mjs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureInstalled } from './install.mjs'
import { refusing } from './refusal.mjs'
import { root, runTool } from './run.mjs'

/** What was found to be right: looked at again when it, or what it was held against, has changed. */
const found = join(root, 'node_modules/.cache/rapport')
const types = ['-p', '.', '--incremental', '--tsBuildInfoFile', join(found, 'types.json')]
const format = ['--check', '--log-level=warn', '--cache', '--cache-strategy=content']

const checks = [
  { name: 'types', run: () => runTool('typescript/bin/tsc', types) },
  { name: 'lint', run: () => runTool('oxlint/bin/oxlint', ['--deny-warnings', '.']) },
  {
    name: 'format',
    run: () => runTool('prettier/bin/prettier.cjs', [...format, '--cache-location', join(found, 'format.json'), '.']),
  },
]

/** Also one of the suite's files, and so not run once more by `npm test`; it needs no database. */
const architecture = {
  name: 'architecture',
  run: () => runTool('vitest/vitest.mjs', ['run', 'server/test/architecture.test.ts'], { TEST_ENGINE: 'none' }),
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
