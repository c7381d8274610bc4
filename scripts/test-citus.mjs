// `npm run test:citus`: starts a Citus cluster, and runs the tests that must give the same results on Citus as on one
// PostgreSQL.
import './node-version.mjs'
import { allTests, citusObstacle, shortTests } from './citus.mjs'
import { exit } from './exit.mjs'
import { ensureInstalled } from './install.mjs'
import { exitOnRefusal } from './refusal.mjs'
import { root, runTool } from './run.mjs'

const usage = `Usage: npm run test:citus [-- [--short] [file …]]

Starts a coordinator and two workers, and runs the tests of scripts/citus.mjs on them, or those of the files.

  --short  only what npm run verify runs too
  --help   print this

CITUS_FILES names a folder with lib/ and extension/ of Citus, built for Debian's postgresql-15, which must be installed.
The whole list imports 10,000 leads three times, which takes eight of its fifteen minutes; files and --short import 300.
IMPORT_LEADS sets another number.`

const given = process.argv.slice(2)
const [options, files] = [given.filter((word) => word.startsWith('-')), given.filter((word) => !word.startsWith('-'))]
if (options.includes('--help')) {
  console.log(usage)
  await exit(0)
}
if (options.some((option) => option !== '--short')) await refuse(`Unknown option: ${options.join(' ')}\n\n${usage}`)
const obstacle = citusObstacle()
if (obstacle !== undefined) await refuse(`${obstacle}.\n\n${usage}`)
await exitOnRefusal(() => ensureInstalled(root, { development: true, log: console.log }))
const chosen = files.length > 0 ? files : options.includes('--short') ? shortTests : allTests
const environment = {
  TEST_ENGINE: 'citus',
  ...(chosen === allTests && { IMPORT_LEADS: process.env.IMPORT_LEADS ?? '10000' }),
}
await exit(await runTool('vitest/vitest.mjs', ['run', ...chosen], { environment }))

async function refuse(message) {
  console.error(message)
  await exit(2)
}
