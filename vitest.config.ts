import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { filesOnDebian } from './server/test/engines.ts'
import { memoryFolder } from './server/test/memory-folder.ts'

const inMemory = memoryFolder()
if (inMemory !== undefined) process.env.TMPDIR ??= inMemory

/** They take longest: begun last, one of them would run beside nothing. */
const long = [
  ...[
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
    'account-page-forms',
    'imports-outages',
    'fuzz',
    'requests',
    'every-resource',
    'imports-edits',
    'tenancy',
    'planted-fault',
  ],
  ...[
    'account-page',
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

/** Of one engine after the other, since a worker that changes over imports everything anew. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => long.some((name) => moduleId.endsWith(`/${name}.test.ts`))
    const sorted = await super.sort(files)
    const turn = (file: TestSpecification) => (file.project.name === 'debian' ? 2 : 0) + (isLong(file) ? 0 : 1)
    return sorted.sort((one, other) => turn(one) - turn(other))
  }
}

const include = ['server/**/*.test.ts', 'lab/**/*.test.ts', 'scripts/**/*.test.mjs']

const ofEach = {
  globalSetup: ['server/test/global-setup.ts'],
  pool: 'forks' as const,
  // Files of one worker share what they import, which else takes a fifth of the time. None changes it.
  isolate: false,
  testTimeout: 60_000,
  hookTimeout: 120_000,
}

/** Both engines in one run: what one of them leaves idle at its end the other one uses. */
function bothEngines(): TestProjectInlineConfiguration[] {
  const { all, debianOnly: alone } = filesOnDebian()
  const project = (name: string, files: { include: string[]; exclude?: string[] }) => ({
    test: { ...ofEach, ...files, name, env: { TEST_ENGINE: name } },
  })
  return [
    project('embedded', { include, exclude: [...configDefaults.exclude, ...alone] }),
    project('debian', { include: all }),
  ]
}

export default defineConfig({
  test: {
    ...(process.env.TEST_ENGINE === 'both' ? { projects: bothEngines() } : { ...ofEach, include }),
    sequence: { sequencer: LongestFirst },
    // Many tests wait for a process or a moment.
    maxWorkers: 3,
  },
})
