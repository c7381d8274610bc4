import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Json, startTestService, type TestService } from '../../../test/service.ts'

const password = 'a password that is long enough'
let service: TestService
let email: string

beforeAll(async () => {
  service = await startTestService()
  const { call } = await service.newOrganization()
  email = (await call('GET', '/v5/me')).body.email
})
afterAll(() => service.close())

/** The statements of one login: the minimum of three, because background work may add some. */
async function countStatements(body: Json, status: number): Promise<number> {
  const counts: number[] = []
  for (let times = 0; times < 3; times++) {
    const querySpy = vi.spyOn(pg.Client.prototype, 'query')
    const answer = await service.anonymous('POST', '/auth/login', { body })
    counts.push(querySpy.mock.calls.length)
    querySpy.mockRestore()
    expect(answer.status, answer.text).toBe(status)
  }
  return Math.min(...counts)
}

test('a login with a password takes nine statements, including begin and commit', async () => {
  expect(await countStatements({ email, password }, 200)).toBe(9)
})

test('a failed login takes five statements', async () => {
  expect(await countStatements({ email: 'nobody@example.com', password }, 401)).toBe(5)
})
