import { afterAll, beforeAll, expect, test } from 'vitest'
import { callAs } from '../../../test/people.ts'
import { examinedState } from '../../../test/installation-state.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { recordLastBackup } from '../../platform/operations/backup/last-backup.ts'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { until } from '../../../test/processes.ts'
import { createInstallation, type SystemFinding } from './installation.ts'

let database: TestDatabase
let service: TestService
let operator: TestOrganization
let other: TestOrganization
beforeAll(async () => {
  database = await createDatabase()
  service = await startTestService({ SIGN_UP: 'open' }, database)
  operator = await service.newOrganization()
  other = await service.newOrganization()
})
afterAll(() => service.close())

const asOwner = ({ accessToken }: TestOrganization) => callAs(service, accessToken)

test('an owner of the first organization reads the state of the installation and the findings of the doctor', async () => {
  const state = await examinedState(asOwner(operator))
  expect(state).toEqual({
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    apiVersion: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
    node: process.versions.node,
    database: {
      version: expect.stringMatching(/^\d+/) as string,
      sizeBytes: expect.any(Number) as number,
      kind: 'embedded',
    },
    startedAt: expect.stringMatching(/Z$/) as string,
    backup: { lastAt: null, folder: null },
    smtp: false,
    reasoning: { engine: 'rules', model: null },
    findings: expect.any(Array) as Json[],
  })
  expect(state.database.sizeBytes).toBeGreaterThan(1_000_000)
  expect(Date.parse(state.startedAt)).toBeLessThanOrEqual(Date.now())
  const levels = Object.fromEntries(state.findings.map(({ name, level }: Json) => [name, level]))
  expect(levels).toMatchObject({
    node: 'ok',
    database: 'ok',
    schema: 'ok',
    clocks: 'ok',
    mail: 'warning',
    backup: 'warning',
  })
  expect(state.findings.find(({ name }: Json) => name === 'backup').advice).toMatch(/rapport(?:\.js)? backup/)
})

test('the latest backup is reported with its folder', async () => {
  await recordLastBackup(database.connection, { takenAt: '2026-11-01T02:30:00.000Z', folder: '/var/old' })
  await recordLastBackup(database.connection, { takenAt: '2026-11-02T02:30:00.000Z', folder: '/var/backups' })
  const { body } = await asOwner(operator)('GET', '/v5/system')
  expect(body.backup).toEqual({ lastAt: '2026-11-02T02:30:00.000Z', folder: '/var/backups' })
})

test('an owner of another organization is refused, also with a key that has the scope', async () => {
  for (const call of [asOwner(other), await other.withScopes(['system:get:read'])]) {
    const { status, body } = await call('GET', '/v5/system')
    expect([status, body.code, body.description]).toEqual([
      403,
      'insufficient_permissions',
      'Only owners of the first organization of this installation can read its state.',
    ])
    expect(JSON.stringify(body)).not.toContain('PostgreSQL')
  }
})

test('a key needs the scope by name, which wildcards do not include', async () => {
  expect((await (await operator.withScopes(['*:*:read']))('GET', '/v5/system')).body).toMatchObject({
    code: 'missing_scopes',
    description: expect.stringContaining('granted by name') as string,
  })
  expect((await (await operator.withScopes(['system:get:read']))('GET', '/v5/system')).status).toBe(200)
  const { body: listed } = await service.anonymous('GET', '/v5/scopes?orderBy=resource&sort=desc&limit=100')
  expect(listed.find(({ scope }: Json) => scope === 'urn:service:system:get:read')).toMatchObject({ guarded: true })
})

const facts = {
  version: '1.0.0',
  startedAt: new Date(),
  databaseKind: 'embedded',
  hasMailServer: false,
  reasoningModel: undefined,
} as const
const finding = (message: string): SystemFinding => ({ level: 'ok', name: 'any', message, advice: null })

test('requests share one examination and use its result again', async () => {
  let runs = 0
  const installation = createInstallation(facts, async () => [finding(`run ${++runs}`)])
  const results = await Promise.all(Array.from({ length: 5 }, () => installation.findings()))
  expect([...results, await installation.findings()]).toEqual(Array.from({ length: 6 }, () => [finding('run 1')]))
})

test('a request does not wait for a slow examination, whose result later requests get', async () => {
  let finish: (findings: SystemFinding[]) => void = () => undefined
  const slow = new Promise<SystemFinding[]>((resolve) => (finish = resolve))
  const results = [Promise.resolve([finding('first')])]
  const installation = createInstallation(facts, () => results.pop() ?? slow, { reuse: 0, wait: 20 })
  expect(await installation.findings()).toEqual([finding('first')])
  expect(await installation.findings()).toEqual([finding('first')])
  finish([finding('second')])
  await until('the slow result is shown', async () => (await installation.findings())?.[0]?.message === 'second')
})

test('a failed examination is reported and repeated by the next request', async () => {
  let runs = 0
  const installation = createInstallation(facts, async () => {
    if (++runs === 1) throw new Error('unreachable')
    return [finding('again')]
  })
  await expect(installation.findings()).rejects.toThrow('unreachable')
  expect(await installation.findings()).toEqual([finding('again')])
})
