import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { memoryFolder } from './server/test/memory-folder.ts'

const inMemory = memoryFolder()
if (inMemory !== undefined) process.env.TMPDIR ??= inMemory

/** Which tests run: those of `npm test`, those of `npm run verify`, or without the variable any of them by its path. */
const suite = process.env.SUITE

/**
 * What `npm run verify` runs: labs, tools, guides, packages, images, planted mistakes, costs, the second engine, and
 * series of kills, outages and starts, of each kind of which `npm test` has a case.
 */
const verification = [
  'lab/**',
  'scripts/**',
  ...['cli-demo', 'locks-held', 'operator-faults', 'secret-replacement-crashes', 'start-addresses', 'start-faults'].map(
    (name) => `server/src/cli/${name}`,
  ),
  'server/src/api/erasure-crashes',
  'server/src/assistant/work/analysis-crashes',
  'server/src/feed/clearing-load',
  'server/src/feed/feed-crashes',
  'server/src/inbox/inbox-crashes',
  'server/src/crm/tasks/reminders-crashes',
  'server/src/webhooks/webhook-crashes',
  'server/src/inbox/digest/digest-crashes',
  'server/src/intake/work/imports-crashes',
  'server/src/intake/work/imports-database-kills',
  'server/src/intake/work/imports-expired-leases',
  'server/src/processes/several-processes-killed',
  'server/src/platform/operations/backup/backup-embedded',
  'server/src/platform/operations/backup/backup-faults',
  'server/src/platform/operations/backup/backup-interruptions',
  ...['distribution-binaries', 'embedded-starts', 'service-role-conversion', 'upgrade'].map(
    (name) => `server/src/platform/operations/embedded-postgres/${name}`,
  ),
  'server/src/api/docs/swagger',
  ...['add-a-resource', 'backup-guide', 'cookbook', 'feed-guide', 'metrics-guide', 'senders-guide', 'tour'].map(
    inServerTest,
  ),
  ...[
    'docker',
    'image-build',
    'embedded-engine',
    'rolling-upgrade',
    'openapi-clients',
    'openapi-lint',
    'typed-client',
  ].map(inServerTest),
  ...['planted-fault*', 'reach-faults', 'request-costs', 'request-memory', 'recorded-statements'].map(inServerTest),
  ...['axe-sweep', 'pictures', 'widths-sweep'].map((name) => `web/test/${name}`),
].map(named)

function named(path: string): string {
  return path.endsWith('/**') ? `${path}/*.test.{ts,mjs}` : `${path}.test.ts`
}

function inServerTest(name: string): string {
  return `server/test/${name}`
}

/** Products of routes, fields and values: all of it here, and in `npm test` one case of each kind (`server/test/suite.ts`). */
const products = [
  'server/**/*.laws.test.ts',
  ...['every-deleted-list', 'every-list', 'every-resource', 'tenancy', 'reach', 'scopes'].map(inServerTest).map(named),
  'server/src/api/schema/schema.test.ts',
  'server/src/intake/{merge/imports-edits,work/imports-outages}.test.ts',
]

/** Only `npm run test:citus` and the end of `npm run verify` start a Citus. */
const onCitus = ['server/test/citus-*.test.ts']

/** `npm run check`, and `npm test` with it, runs them without the suite. */
const ofSources = ['architecture', 'language', 'commit-subjects'].map(inServerTest).map(named)

const excluded: Record<string, string[]> = { test: [...verification, ...onCitus, ...ofSources], verify: onCitus }

/** They take longest: begun last, one of them would run beside nothing. */
const long = [
  ...['embedded-engine', 'openapi-clients', 'bench', 'faults', 'planted-fault', 'upgrade', 'cli-demo', 'docker'],
  ...['every-list', 'every-resource', 'tenancy', 'scopes', 'reach', 'imports-leases', 'several-processes', 'roles'],
  ...['indexes.laws', 'lists.laws', 'typed-lists.laws', 'refusals', 'session-leftovers', 'schema'],
  ...['single-sign-on-hostile', 'second-factors-passkeys', 'maintenance', 'removal', 'mail-delivery', 'openapi'],
  ...['locks-doctor', 'mail-worker', 'single-sign-on-limits', 'imports-poison'],
  ...['imports-edits', 'imports-outages', 'imports-crashes', 'secret-replacement-crashes', 'requests'],
  ...['embedded-starts', 'operator-faults', 'service-role-conversion', 'start-addresses', 'start-faults'],
]

/**
 * The longest test of the application begins: it prepares the data of the others for half a minute. Those that run beside
 * it need none.
 */
const first = ['axe', 'sessions', 'profile', 'access-forms'].map((name) => `/web/test/${name}.test.ts`)

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = (file: string) =>
      file.includes('/web/test/') || long.some((name) => file.endsWith(`/${name}.test.ts`))
    const rank = ({ moduleId: file }: TestSpecification) => {
      const place = first.findIndex((path) => file.endsWith(path))
      return place >= 0 ? place : first.length + (isLong(file) ? 0 : 1)
    }
    const sorted = await super.sort(files)
    return sorted.sort((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    include:
      suite === 'verify'
        ? [...verification, ...products]
        : ['server/**/*.test.ts', 'lab/**/*.test.ts', 'web/**/*.test.ts', 'scripts/**/*.test.mjs'],
    exclude: [
      ...configDefaults.exclude,
      ...(excluded[suite ?? ''] ?? []),
      ...(process.env.TEST_ENGINE === 'both' ? [] : ['**/embedded-engine.test.ts']),
    ],
    globalSetup: ['server/test/global-setup.ts'],
    setupFiles: ['server/test/inspect-statements.ts', 'server/test/property-seed.ts'],
    pool: 'forks',
    // Files of one worker share what they import, which else takes a fifth of the time. None changes it.
    isolate: false,
    testTimeout: 60_000,
    // Waits end as soon as what they wait for is there; how long that takes on a busy machine is not what they test.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 120_000,
    sequence: { sequencer: LongestFirst },
    // Many tests of the product wait for a process or a moment. Verification measures, and loads the machine by itself.
    maxWorkers: suite === 'verify' ? 2 : 4,
  },
})
