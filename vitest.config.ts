import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { memoryFolder } from './server/test/memory-folder.ts'

const inMemory = memoryFolder()
if (inMemory !== undefined) process.env.TMPDIR ??= inMemory

/** They take longest: begun last, one of them would run beside nothing. */
const long = [
  ...[
    'embedded-engine',
    'request-costs',
    'faults',
    'bench',
    'upgrade',
    'embedded',
    'lists.laws',
    'every-list',
    'swagger',
    'start-resources',
  ],
  ...[
    'access-forms',
    'imports-outages',
    'fuzz',
    'requests',
    'every-resource',
    'imports-edits',
    'tenancy',
    'planted-fault',
  ],
  ...[
    'access-links',
    'start',
    'service-role',
    'cli-demo',
    'docker',
    'scopes',
    'backup',
    'backup-faults',
    'backup-interruptions',
  ],
  ...['imports-crashes', 'session-leftovers', 'typed-client', 'plans', 'request-memory', 'secret-replacement-crashes'],
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      moduleId.includes('/web/test/') || long.some((name) => moduleId.endsWith(`/${name}.test.ts`))
    const sorted = await super.sort(files)
    return sorted.sort((one, other) => Number(isLong(other)) - Number(isLong(one)))
  }
}

export default defineConfig({
  test: {
    include: ['server/**/*.test.ts', 'lab/**/*.test.ts', 'web/**/*.test.ts', 'scripts/**/*.test.mjs'],
    exclude: [...configDefaults.exclude, ...(process.env.TEST_ENGINE === 'both' ? [] : ['**/embedded-engine.test.ts'])],
    globalSetup: ['server/test/global-setup.ts'],
    setupFiles: ['server/test/inspect-statements.ts'],
    pool: 'forks',
    // Files of one worker share what they import, which else takes a fifth of the time. None changes it.
    isolate: false,
    testTimeout: 60_000,
    // Waits end as soon as what they wait for is there; how long that takes on a busy machine is not what they test.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 120_000,
    sequence: { sequencer: LongestFirst },
    // Many tests wait for a process or a moment.
    maxWorkers: 4,
  },
})
