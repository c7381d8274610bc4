import { afterAll, beforeAll, expect, test } from 'vitest'
import { goodPassword, logIn, loggedIn, newEmail, newOwner } from '../../../test/people.ts'
import { startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ TRUST_PROXY: '1' })
})
afterAll(() => service.close())

test('many simultaneous logins delay only other logins, not the API', async () => {
  const { call } = await service.newOrganization()
  let isDone = false
  let ended = 0
  // Those that find the queue full end; the others keep it full, however long the requests below take.
  const logins = Array.from({ length: 45 }, async (_, client) => {
    const answers = []
    do answers.push(await logIn(service, newEmail(), goodPassword, from(`10.${client}.0.${answers.length % 256}`)))
    while (!isDone && answers.at(-1)?.status === 401)
    ended++
    return answers
  })
  const responses = []
  for (let request = 0; request < 10; request++) {
    responses.push(await call('POST', '/v5/contacts', { body: { name: 'Ada' } }))
    responses.push(await call('GET', '/v5/contacts'))
  }
  expect(ended).toBeLessThan(logins.length)
  isDone = true
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 201]))
  // Wrong password, too many from one address, or a full queue: every login gets a response.
  for (const { status, body, headers } of (await Promise.all(logins)).flat()) {
    expect([401, 429, 503]).toContain(status)
    if (status !== 401) expect([body.code, headers.has('retry-after')]).toEqual([codes[status], true])
  }
})

const codes: Readonly<Record<number, string>> = { 429: 'rate_limited', 503: 'overloaded' }

const from = (address: string) => ({ 'x-forwarded-for': address })

test.each([
  ['an address each', (index: number) => `203.0.113.${index + 1}`],
  ['one address', () => '203.0.113.200'],
])(
  'with 60 unknown devices logging in at once from %s, every login from a known device succeeds',
  async (_, addressOf) => {
    const { email, password } = await newOwner(service)
    const own = from('198.51.100.7')
    const first = await logIn(service, email, password, own)
    expect(first.status).toBe(200)
    let isDone = false
    const unknownDevices = Array.from({ length: 60 }, async (_, index) => {
      const statuses: number[] = []
      while (!isDone) {
        const { status } = await logIn(service, newEmail(), goodPassword, from(addressOf(index)))
        statuses.push(status)
        // The others keep the queue full; a rejected client that continues would only slow down the test.
        if (status !== 401) break
      }
      return statuses
    })
    for (let time = 0; time < 20; time++) await loggedIn(service, email, password, own)
    const together = await Promise.all(Array.from({ length: 20 }, () => logIn(service, email, password, own)))
    isDone = true
    expect(together.map(({ status }) => status)).toEqual(together.map(() => 200))
    const statuses = (await Promise.all(unknownDevices)).flat()
    // The logins exceeded the capacity for hashing.
    expect(statuses).toContain(503)
  },
)
