import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { backgroundName, type Json, startTestService, type TestService } from '../../../test/service.ts'

const password = 'a password that is long enough'
let service: TestService
let email: string

beforeAll(async () => {
  service = await startTestService()
  const { call } = await service.newOrganization()
  email = (await call('GET', '/v5/me')).body.email
})
afterAll(() => service.close())

/** The statements of one login: the minimum of three, without those of background work. */
async function countStatements(body: Json, status: number): Promise<number> {
  const counts: number[] = []
  for (let times = 0; times < 3; times++) {
    const querySpy = vi.spyOn(pg.Client.prototype, 'query')
    const answer = await service.anonymous('POST', '/auth/login', { body })
    counts.push(querySpy.mock.contexts.filter((client) => nameOf(client) !== backgroundName).length)
    querySpy.mockRestore()
    expect(answer.status, answer.text).toBe(status)
  }
  return Math.min(...counts)
}

function nameOf(client: unknown): unknown {
  const parameters: unknown = client instanceof pg.Client && Reflect.get(client, 'connectionParameters')
  return parameters instanceof Object && 'application_name' in parameters ? parameters.application_name : undefined
}

test('a login with a password takes ten statements, including begin and commit', async () => {
  expect(await countStatements({ email, password }, 200)).toBe(10)
})

test('a failed login takes five statements', async () => {
  expect(await countStatements({ email: 'nobody@example.com', password }, 401)).toBe(5)
})
