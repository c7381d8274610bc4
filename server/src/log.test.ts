import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { until } from '../test/processes.ts'
import { formatLine } from './log.ts'

test('on a terminal, a log line shows time, level, message and fields', () => {
  const lines: string[] = []
  const log = pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line) => void lines.push(formatLine(line)) },
  )
  log.info({ route: '/v5/contacts', status: 200 }, 'request')
  log.warn('The database stopped unexpectedly; restarting it.')
  log.error({ err: new Error('broken') }, 'internal_error')
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d request route=\/v5\/contacts status=200$/)
  expect(lines[1]).toMatch(/^\d\d:\d\d:\d\d WARN The database stopped unexpectedly; restarting it\.$/)
  expect(lines[2]).toMatch(/ERROR internal_error\nError: broken\n/)
})

/** A process that logs `count` lines and a last one, then exits when its input ends. */
async function logger(folder: string, count: number): Promise<ChildProcessWithoutNullStreams> {
  const file = join(folder, 'logger.mjs')
  await build({
    stdin: {
      contents: `import { createLog } from './log.ts'
        const log = createLog('info')
        process.stdout.write('ready')
        process.stdin.resume().once('end', () => {
          for (let line = 0; line < ${count}; line++) log.info({ line, more: 'x'.repeat(100) }, 'line')
          log.info('Stopped.')
          process.exit(0)
        })`,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
    },
    logLevel: 'error',
  })
  const child = spawn(process.execPath, [file], { stdio: ['pipe', 'pipe', 'pipe'] })
  await once(child.stdout, 'data')
  return child
}

test('all lines arrive, even if the reader is slower than the exit', async ({ onTestFinished }) => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-log-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const child = await logger(folder, 5000)
  const closed = once(child, 'close')
  child.stdin.end()
  await until('it waits for its reader', () => child.stderr.readableLength > 0 || child.exitCode !== null)
  const lines = (await text(child.stderr)).trim().split('\n')
  expect(await closed).toEqual([0, null])
  expect(lines).toHaveLength(5001)
  expect(lines.at(-1)).toContain('Stopped.')
})

test('a process exits even if nobody reads its log anymore', async ({ onTestFinished }) => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-log-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const child = await logger(folder, 1)
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stderr.destroy()
  await once(child.stderr, 'close')
  child.stdin.end()
  expect(await once(child, 'exit')).toEqual([0, null])
})
