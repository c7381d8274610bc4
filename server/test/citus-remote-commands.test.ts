import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isDistributed } from './engines.ts'
import { logIn, newOwner } from './people.ts'
import { createDatabase } from './postgres.ts'
import { recordRemoteCommands, type RemoteCommands } from './remote-commands.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestResponse,
  type TestService,
  withoutBackground,
} from './service.ts'

/** Each command takes a round trip between servers. The first and the last one of a transaction count, too. */
const limits = { list: 1, get: 1, create: 6, createWithKey: 8, change: 5, push: 2 }

describe.skipIf(!isDistributed())('between the servers of a Citus cluster', () => {
  let service: TestService
  let organization: TestOrganization
  let remote: RemoteCommands
  let call: Call
  let contactId: string
  let number = 0
  beforeAll(async () => {
    const { connection, drop } = await createDatabase()
    remote = await recordRemoteCommands(connection)
    // What follows in the background, such as the feed and the inbox, is not part of a request.
    service = await startTestService(withoutBackground, { connection: remote.connection, drop })
    organization = await service.newOrganization()
    call = organization.call
    contactId = (await call('POST', '/v5/contacts', { body: { email: 'grace@example.com' } })).body.id
  }, 60_000)
  afterAll(() => service?.close())

  type Send = () => Promise<TestResponse<Json>>

  /** The commands of a request, when the connections between the servers are open and definitions are known. */
  async function commandsOf(send: Send, status: number): Promise<{ commands: string[]; body: Json }> {
    for (let time = 0; time < 3; time++) await send()
    const { commands, result } = await remote.during(send)
    expect(result.status, result.text).toBe(status)
    expect(commands.filter((command) => command.startsWith('PREPARE TRANSACTION'))).toEqual([])
    return { commands, body: result.body }
  }

  const records: Record<string, { path: () => string; body: () => Json; change: () => Json }> = {
    contacts: {
      path: () => '/v5/contacts',
      body: () => ({ email: `ada.${number++}@example.com`, firstName: 'Ada', tags: ['vip'] }),
      change: () => ({ firstName: `Ada ${number++}`, tags: [`tag ${number}`] }),
    },
    companies: {
      path: () => '/v5/companies',
      body: () => ({ name: `Engines ${number++}` }),
      change: () => ({ name: `Engines ${number++}` }),
    },
    deals: {
      path: () => '/v5/deals',
      body: () => ({ name: `Deal ${number++}`, amount: '1200.50' }),
      change: () => ({ amount: String(number++) }),
    },
    notes: {
      path: () => `/v5/contacts/${contactId}/notes`,
      body: () => ({ body: `Called ${number++}` }),
      change: () => ({ body: `Called ${number++} times` }),
    },
    tasks: {
      path: () => '/v5/tasks',
      body: () => ({ title: `Call ${number++}`, dueDate: '2030-01-01', contactId }),
      change: () => ({ title: `Call again ${number++}` }),
    },
    campaigns: {
      path: () => '/v5/campaigns',
      body: () => ({ name: `Campaign ${number++}` }),
      change: () => ({ name: `Campaign ${number++}` }),
    },
  }

  describe.each(Object.entries(records))('%s', (_, { path, body, change }) => {
    let id: string

    test(`a new one takes at most ${limits.create} commands, and ${limits.createWithKey} with an Idempotency-Key`, async () => {
      const plain = await commandsOf(() => call('POST', path(), { body: body() }), 201)
      expect(plain.commands.length, plain.commands.join('\n')).toBeLessThanOrEqual(limits.create)
      id = plain.body.id
      const headers = () => ({ 'idempotency-key': randomUUID() })
      const { commands } = await commandsOf(() => call('POST', path(), { body: body(), headers: headers() }), 201)
      expect(commands.length, commands.join('\n')).toBeLessThanOrEqual(limits.createWithKey)
    })

    test(`a change takes at most ${limits.change} commands`, async () => {
      const { commands } = await commandsOf(() => call('PATCH', `${path()}/${id}`, { body: change() }), 200)
      expect(commands.length, commands.join('\n')).toBeLessThanOrEqual(limits.change)
    })

    test('a record and a list take one command each', async () => {
      const one = await commandsOf(() => call('GET', `${path()}/${id}`), 200)
      expect(one.commands, one.commands.join('\n')).toHaveLength(limits.get)
      const list = await commandsOf(() => call('GET', `${path()}?limit=10`), 200)
      expect(list.commands, list.commands.join('\n')).toHaveLength(limits.list)
    })

    test('deleting and restoring one uses no two-phase commit', async () => {
      await commandsOf(async () => {
        const deleted = await call('DELETE', `${path()}/${id}`)
        expect(deleted.status, deleted.text).toBe(204)
        return call('POST', `${path()}/${id}/restore`)
      }, 200)
    })
  })

  test(`a push takes at most ${limits.push} commands until it is answered`, async () => {
    const push = (headers: Record<string, string> = {}) =>
      service.anonymous('POST', new URL(organization.triggerUrl).pathname, {
        body: { contact: { email: `lead.${number++}@example.com` } },
        headers,
      })
    const plain = await commandsOf(() => push(), 200)
    expect(plain.commands.length, plain.commands.join('\n')).toBeLessThanOrEqual(limits.push)
    const { commands } = await commandsOf(() => push({ 'idempotency-key': randomUUID() }), 200)
    expect(commands.length, commands.join('\n')).toBeLessThanOrEqual(limits.push)
  })

  test('a login takes none', async () => {
    const { email, password } = await newOwner(service)
    const { commands } = await commandsOf(() => logIn(service, email, password), 200)
    expect(commands).toEqual([])
  })
})
