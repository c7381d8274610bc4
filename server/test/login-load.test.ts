import { afterAll, beforeAll, expect, test } from 'vitest'
import { goodPassword, logIn, newEmail } from './people.ts'
import { startTestService, type TestService } from './service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

test('while many people log in, the API answers as ever: nobody but those who log in waits for them', async () => {
  const { call } = await service.newOrganization()
  let ended = 0
  const logins = Array.from({ length: 45 }, () =>
    logIn(service, newEmail(), goodPassword).then((answer) => {
      ended++
      return answer
    }),
  )
  const answers = []
  for (let request = 0; request < 10; request++) {
    answers.push(await call('POST', '/v5/contacts', { body: { name: 'Ada' } }))
    answers.push(await call('GET', '/v5/contacts'))
  }
  expect(ended).toBeLessThan(logins.length)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]))
  // Tried and wrong, too many from one address, or no room in the queue: all of them have an answer.
  for (const { status, body, headers } of await Promise.all(logins)) {
    expect([401, 429, 503]).toContain(status)
    if (status !== 401) expect([body.code, headers.has('retry-after')]).toEqual([codes[status], true])
  }
})

const codes: Readonly<Record<number, string>> = { 429: 'rate_limited', 503: 'overloaded' }
