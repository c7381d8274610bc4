import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run, databaseUrlOf } from './command-line.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { openRaw, type RawConnection, requestText } from './raw-http.ts'
import { type ServiceProcess, type ServiceProcesses, serviceProcesses } from './service-process.ts'
import type { Json } from './service.ts'

const secret = 'the same secret for all of them, of 32 characters and more'
let database: TestDatabase
let processes: ServiceProcesses
let service: ServiceProcess
let bootstrapped: Json

beforeAll(async () => {
  database = await createDatabase()
  processes = await serviceProcesses(database)
  service = await processes.start('memory', { IMPORT_WORKERS: '0', SECRET: secret })
  const commandLine = 'bootstrap --email owner@example.com --organization Acme --password-stdin --json'
  const environment = { DATABASE_URL: databaseUrlOf(database), SECRET: secret }
  const { output } = await run(commandLine.split(' '), { environment, input: 'a password that is long enough' })
  bootstrapped = JSON.parse(output)
})
afterAll(async () => {
  await processes.close()
  await database.drop()
})

/** The resident memory of the service in mebibytes. */
async function residentMebibytes(): Promise<number> {
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

const count = 600
const bytes = 1_000_000

/** Opens connections that each send a body without its end. */
async function sendUnfinished(path: string): Promise<RawConnection[]> {
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const part = `10000\r\n${'x'.repeat(65_536)}\r\n`
  const connections: RawConnection[] = []
  for (let index = 0; index < count; index += 1) {
    const connection = await openRaw(service.url)
    connection.write(requestText('POST', path, { headers }))
    for (let sent = 0; sent < bytes - 65_536; sent += 65_536) connection.write(part)
    connections.push(connection)
  }
  return connections
}

// Only Linux has /proc.
test.skipIf(process.platform !== 'linux').each([
  ['an anonymous client', () => '/auth/login'],
  ['a client with a trigger URL', () => new URL(bootstrapped.triggerUrl).pathname],
])(
  'six hundred unfinished request bodies of %s use limited memory, which is released',
  async (_who, path) => {
    const before = await residentMebibytes()
    const connections = await sendUnfinished(path())
    await until('all of it has arrived', () => connections.every(({ socket }) => socket.writableLength === 0))
    const lead = { contact: { email: 'ada@example.com' } }
    const pushed = await service.push(new URL(bootstrapped.triggerUrl).pathname, lead)
    expect(pushed?.status).toBe(200)
    expect((await residentMebibytes()) - before).toBeLessThan(180)
    for (const { socket } of connections) socket.destroy()
    // Memory that is not released would add up or block these requests.
    for (let round = 0; round < 20; round += 1) {
      expect((await service.push(new URL(bootstrapped.triggerUrl).pathname, { ...lead, round }))?.status).toBe(200)
    }
  },
  60_000,
)
