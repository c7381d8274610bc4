import { afterAll, beforeAll, expect, test } from 'vitest'
import { logIn, newEmail, newOwner } from '../../../test/people.ts'
import { until } from '../../../test/processes.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
let isClosed = false
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '1' })
})
afterAll(() => (isClosed ? undefined : service.close()))

const linesOf = (address: string) =>
  service.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line.address === address && /logins? failed/.test(String(line.msg)))

test('password spraying is logged with its address and time, without accounts or passwords', async () => {
  const from = { 'x-forwarded-for': '203.0.113.9' }
  const password = 'one guess for everybody'
  const known = await newOwner(service)
  const accounts = [known.email, ...Array.from({ length: 23 }, () => newEmail())]
  const statuses = []
  for (const account of accounts) statuses.push((await logIn(service, account, password, from)).status)
  expect(statuses).toContain(429)
  expect(linesOf('203.0.113.9')).toMatchObject([{ msg: 'a login failed', level: 40, isRefused: false }])
  expect(Date.now() - Number(linesOf('203.0.113.9')[0]?.time)).toBeLessThan(120_000)
  isClosed = true
  await service.close()
  await until('the summary is logged', () => linesOf('203.0.113.9').length > 1)
  const failed = statuses.indexOf(429)
  const [, summary] = linesOf('203.0.113.9')
  expect(summary).toMatchObject({
    failed,
    refused: accounts.length - failed,
    accounts: accounts.length,
  })
  const text = service.logged.join('\n')
  for (const secret of [...accounts, password]) expect(text).not.toContain(secret)
})
