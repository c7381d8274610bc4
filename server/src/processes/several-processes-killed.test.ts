import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { childrenOf } from '../../../lab/shared/usage.ts'
import { run } from '../../test/command-line.ts'
import { createDatabase, type TestDatabase } from '../../test/postgres.ts'
import { until } from '../../test/processes.ts'
import { openRaw, requestText } from '../../test/raw-http.ts'
import { type ServiceProcesses, serviceProcesses } from '../../test/service-process.ts'
import { startIn, type StartContext, statusOf } from '../../test/started-service.ts'

// Two processes of one command (`PROCESSES=2`) share their state.

let testDatabase: TestDatabase
let processes: ServiceProcesses
beforeAll(async () => {
  testDatabase = await createDatabase()
  processes = await serviceProcesses(testDatabase)
})
afterAll(async () => {
  await processes.close()
  await testDatabase.drop()
})

const isWorker = (pid: number): boolean =>
  execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).includes('worker.mjs')

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('connections that wait for a process that is killed are served by another one, or closed', async () => {
  const { pid, url } = await processes.start('killed', { PROCESSES: '2' })
  const workers = childrenOf(pid)
  const [killed = 0, other = 0] = workers
  const openFiles = () => readdirSync(`/proc/${pid}/fd`).length
  const before = openFiles()
  // While they are stopped, half of the connections wait for each of them.
  for (const worker of workers) process.kill(worker, 'SIGSTOP')
  const answers = Array.from({ length: 60 }, async () => {
    const connection = await openRaw(url)
    connection.write(requestText('GET', '/healthz', { headers: { connection: 'close' } }))
    await connection.closed
    return connection.bytes().toString()
  })
  await until('the connections wait', () => openFiles() >= before + 60)
  process.kill(killed, 'SIGKILL')
  process.kill(other, 'SIGCONT')
  const served = (await Promise.all(answers)).filter((text) => text.startsWith('HTTP/1.1 200'))
  // One was being sent to the process that was killed.
  expect(served.length).toBeGreaterThanOrEqual(59)
})

test('when the primary process is killed, the workers exit and the next start takes over the embedded database', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-several-'))
  await chmod(folder, 0o755)
  const cleanUps: StartContext['cleanUps'] = [() => rm(folder, { recursive: true, force: true })]
  onTestFinished(async () => {
    for (const step of cleanUps.reverse()) await step()
  })
  const first = await startIn({ folder, cleanUps }, { PROCESSES: '2' })
  await until('the service is ready', async () => (await statusOf(`${first.url}/readyz`)) === 200)
  const workers = childrenOf(first.pid).filter(isWorker)
  expect(workers.length).toBe(2)
  first.signal('SIGKILL')
  await until('the workers exit', () => !workers.some(isAlive))
  // More connections than the server that is still running allows.
  const moreConnections = { DATABASE_CONNECTIONS: '80' }
  const next = await startIn({ folder, cleanUps }, moreConnections)
  await until('the next service is ready', async () => (await statusOf(`${next.url}/readyz`)) === 200)
  const { output } = await run(['doctor', '--json'], {
    environment: { ...moreConnections, DATA_DIR: join(folder, 'data') },
  })
  expect(JSON.parse(output).findings).toContainEqual(expect.objectContaining({ name: 'connections', state: 'ok' }))
  next.signal('SIGTERM')
  expect((await next.ended).code).toBe(0)
})
