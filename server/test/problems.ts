import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { serversIn } from './data-directory.ts'

type Line = { level: number; msg: string; problem?: string; remedy?: string }

/** The JSON lines of a log. */
export const parseLines = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)

/** The errors that report this problem. */
export const problemsIn = (lines: readonly Line[], problem: string) =>
  lines.filter((line) => line.level === 50 && line.problem === problem)

/** A folder for the data of a service; what runs there is killed after the test. */
export async function newHome(context: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'rapport-problems-'))
  await chmod(home, 0o755)
  context.onTestFinished(async () => {
    for (const pid of await serversIn(home)) process.kill(pid, 'SIGKILL')
    await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  })
  return home
}
