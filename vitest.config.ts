import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { memoryFolder } from './server/test/memory-folder.ts'

const inMemory = memoryFolder()
if (inMemory !== undefined) process.env.TMPDIR ??= inMemory

/** They take longest: begun last, one of them would run beside nothing. */
const long = [
  ...['bench', 'faults', 'swagger', 'upgrade', 'embedded', 'start', 'command-line', 'lists.laws', 'every-list'],
  ...['backup', 'backup-faults', 'cli-demo', 'cli-import', 'docker', 'every-resource', 'fuzz', 'imports-crashes'],
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => long.some((name) => moduleId.endsWith(`/${name}.test.ts`))
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  test: {
    include: [
      'server/**/*.test.ts',
      'bench/**/*.test.ts',
      'fuzz/**/*.test.ts',
      'tools/**/*.test.ts',
      'scripts/**/*.test.mjs',
    ],
    globalSetup: ['server/test/global-setup.ts'],
    sequence: { sequencer: LongestFirst },
    pool: 'forks',
    // Files of one worker share what they import, which else takes a fifth of the time. None changes it.
    isolate: false,
    // Many tests wait for a process or a moment.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
