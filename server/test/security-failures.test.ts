import { chmod, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { identifier, sql } from '../src/platform/model/sql.ts'
import { waitForExit, launch, run } from './command-line.ts'
import { enrolApp, newPerson } from './second-factors.ts'
import { callAs, logIn, newEmail, newOwner } from './people.ts'
import { until } from './processes.ts'
import { type Json, startTestService, type TestResponse, type TestService } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

/** Runs `work` while every query of the table fails. */
async function withTableRenamed(table: string, work: () => Promise<void>): Promise<void> {
  const rename = (from: string, to: string) =>
    service.database.crossTenantQuery(
      'check the database',
      sql`alter table ${identifier(from)} rename to ${identifier(to)}`,
    )
  await rename(table, `${table}_away`)
  try {
    await work()
  } finally {
    await rename(`${table}_away`, table)
  }
}

const countOf = async (table: string): Promise<number> => {
  const [row] = await service.database.crossTenantQuery<{ count: number }>(
    'check the database',
    sql`select count(*)::integer as count from ${identifier(table)}`,
  )
  return row?.count ?? -1
}

test('a failed lookup of a credential, role or limit denies access', async () => {
  const owner = await newOwner(service)
  const { organization } = owner
  const create = () => ({ body: { email: newEmail() } })
  const asKey = () => organization.call('POST', '/v5/contacts', create())
  const asPerson = () => owner.call('POST', '/v5/contacts', create())
  const changeAccount = () => owner.call('PATCH', '/v5/me', { body: { name: 'Other' } })
  const logInAgain = () => logIn(service, owner.email, owner.password)
  const push = () => service.anonymous('POST', new URL(organization.triggerUrl).pathname, { body: { contact: {} } })
  const checks: [string, (() => Promise<TestResponse<Json>>)[]][] = [
    ['api_keys', [asKey]],
    ['sessions', [asPerson, changeAccount, logInAgain]],
    ['members', [asPerson, logInAgain]],
    ['organizations', [asPerson]],
    ['users', [logInAgain]],
    ['login_failures', [logInAgain]],
    ['imports', [push]],
    ['pending_events', [logInAgain]],
  ]
  const [contacts, sessions] = [await countOf('contacts'), await countOf('sessions')]
  for (const [table, requests] of checks) {
    // Cached credentials are checked against the database too.
    await withTableRenamed(table, async () => {
      for (const send of requests) {
        const { status, text } = await send()
        expect([table, send.name, status >= 400], text).toEqual([table, send.name, true])
      }
    })
  }
  expect([await countOf('contacts'), await countOf('sessions')]).toEqual([contacts, sessions])
  for (const send of [asKey, asPerson, logInAgain]) expect((await send()).status).toBeLessThan(300)
})

test('a failed check of a second factor denies access', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const pendingToken = await person.beginLogin()
  const logInAgain = () => service.anonymous('POST', '/auth/login/totp', { body: { pendingToken, code: app.code() } })
  for (const table of ['totp_secrets', 'pending_logins', 'sessions', 'pending_events']) {
    await withTableRenamed(table, async () =>
      expect([table, (await logInAgain()).status >= 500]).toEqual([table, true]),
    )
  }
  const response = await logInAgain()
  expect(response.status).toBe(200)
  expect((await callAs(service, response.body.accessToken)('GET', '/v5/contacts')).status).toBe(200)
})

/** The files that a process has open for writing. */
async function writtenBy(pid: number): Promise<string[]> {
  const written: string[] = []
  for (const name of await readdir(`/proc/${pid}/fd`)) {
    const target = await readlink(`/proc/${pid}/fd/${name}`).catch(() => '')
    const info = await readFile(`/proc/${pid}/fdinfo/${name}`, 'utf8').catch(() => '')
    const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? '0', 8)
    if (target.startsWith('/') && !target.startsWith('/dev/') && (flags & 3) !== 0) written.push(target)
  }
  return written
}

test.skipIf(process.platform !== 'linux')(
  'a running service logs only to standard error, and PostgreSQL only to postgres.log',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rapport-logs-'))
    await chmod(folder, 0o711)
    const [data, home] = [join(folder, 'data'), join(folder, 'home')]
    const environment = { PORT: '0', DATA_DIR: data, HOME: home, TMPDIR: folder, LOG_LEVEL: 'trace' }
    const child = launch(['start'], { environment })
    const ended = waitForExit(child)
    try {
      let url = ''
      await until(
        'the service is ready',
        async () => {
          const text = await readFile(join(data, 'service.json'), 'utf8').catch(() => '{}')
          url = (JSON.parse(text) as { url?: string }).url ?? ''
          return url !== '' && (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
        },
        60_000,
      )
      const bootstrapArguments = [
        'bootstrap',
        '--email',
        'ada@example.com',
        '--organization',
        'Engines',
        '--json',
        '--password',
      ]
      const bootstrapped = await run([...bootstrapArguments, 'violet engine tandem'], { environment })
      expect(bootstrapped.code, bootstrapped.errors).toBe(0)
      for (const path of ['/v5/me', '/v5/nowhere', '/auth', '/v5/docs']) await fetch(`${url}${path}`)
      expect(await writtenBy(child.pid ?? 0)).toEqual([])
      const expectedFiles = ['postgres', 'postgres.log', 'secret', 'service.json', 'sockets']
      expect((await readdir(data)).filter((name) => !expectedFiles.includes(name))).toEqual([])
      const logs = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.log'))
      expect(logs).toEqual([join('data', 'postgres.log')])
    } finally {
      child.kill('SIGTERM')
      const { errors } = await ended
      const lines = errors.split('\n').filter((line) => line.startsWith('{'))
      expect(lines.some((line) => (JSON.parse(line) as { msg: string }).msg === 'request')).toBe(true)
      await rm(folder, { recursive: true, force: true, maxRetries: 10 })
    }
  },
  60_000,
)
