import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { livePostmaster } from '../platform/operations/embedded-postgres/postmaster.ts'
import { waitForExit } from '../../test/command-line.ts'
import { until } from '../../test/processes.ts'
import { recording } from '../../test/recorded-statements.ts'

// Starts and stops the service as a user does: with npm, a data folder and the embedded database. For crashes, see
// faults.test.ts.
const root = fileURLToPath(new URL('../../..', import.meta.url))

let folder: string
let environment: Record<string, string>
const running = new Set<ChildProcess>()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rapport-crash-'))
  await chmod(folder, 0o711)
  environment = { PORT: '0', DATA_DIR: join(folder, 'data'), RATE_LIMIT_PER_MINUTE: '10000000' }
})
afterEach(async () => {
  for (const child of running) child.kill('SIGTERM')
  await Promise.all([...running].map((child) => waitForExit(child)))
  const pid = await livePostmaster(join(folder, 'data/postgres'))
  if (pid !== undefined) process.kill(pid, 'SIGQUIT')
  await rm(folder, { recursive: true, force: true, maxRetries: 10 })
})

/** Waits until the service is ready; returns its address. */
async function waitUntilReady(child: ChildProcess): Promise<string> {
  running.add(child)
  child.once('exit', () => running.delete(child))
  let hasExited = false
  child.once('exit', () => {
    hasExited = true
  })
  let url = ''
  await until(
    'the service is ready',
    async () => {
      if (hasExited) throw new Error(`It exited: ${JSON.stringify(await waitForExit(child))}`)
      url = await readFile(join(folder, 'data/service.json'), 'utf8').then(
        (text) => (JSON.parse(text) as { url: string }).url,
        () => '',
      )
      return url !== '' && (await statusOf(`${url}/readyz`)) === 200
    },
    60_000,
  )
  return url
}

const statusOf = (url: string): Promise<number> =>
  fetch(url).then(
    ({ status }) => status,
    () => 0,
  )

test('on SIGTERM to npm, the service reports not ready, finishes requests in progress and stops PostgreSQL last', async () => {
  const npm = spawn('npm', ['start'], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...recording, ...environment, DRAIN_MILLISECONDS: '4000' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = waitForExit(npm)
  const url = await waitUntilReady(npm)
  const slow = connect(Number(new URL(url).port), '127.0.0.1')
  let response = ''
  slow.setEncoding('utf8').on('data', (text: string) => {
    response += text
  })
  slow.on('error', () => undefined)
  slow.write(
    'POST /auth HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"token"',
  )
  await until('the slow request has arrived', async () => (await statusOf(`${url}/healthz`)) === 200)
  npm.kill('SIGTERM')
  await until('it reports that it is not ready', async () => (await statusOf(`${url}/readyz`)) === 503)
  expect(await livePostmaster(join(folder, 'data/postgres'))).toBeDefined()
  await until('it accepts no new connections', async () => (await statusOf(`${url}/healthz`)) === 0)
  slow.write(':"x"}')
  await until('the request in progress is answered', () => response.includes('invalid_token'))
  expect((await end).errors).toContain('Stopped.')
  expect(await livePostmaster(join(folder, 'data/postgres'))).toBeUndefined()
})
