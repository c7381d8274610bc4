import { expect } from 'vitest'
import { sql } from '../src/platform/model/sql.ts'
import { until } from './processes.ts'
import type { Call, Json, TestOrganization, TestService } from './service.ts'
import { Receiver } from './webhook-receiver.ts'

/** The environment of a service that sends to receivers on loopback. */
export const sendsToLoopback = { WEBHOOK_CONCURRENCY: '8', EGRESS_ALLOW: '127.0.0.1' }

/** A webhook of a new organization, with its receiver. */
export interface Hooked {
  organization: TestOrganization
  call: Call
  receiver: Receiver
  id: string
  secret: string
  path: string
}

export async function created(call: Call, path: string, body: object): Promise<Json> {
  const answer = await call('POST', path, { body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body
}

/** By default of all events of contacts. */
export const newWebhook = (call: Call, { url }: Pick<Receiver, 'url'>, body: object = {}): Promise<Json> =>
  created(call, '/v5/webhooks', { url, events: ['contact.*'], scopes: ['contact:list:read'], ...body })

export async function newHooked(service: TestService, body: object = {}): Promise<Hooked> {
  const receiver = await new Receiver().open()
  const organization = await service.newOrganization()
  const { call } = organization
  const { id, secret } = await newWebhook(call, receiver, body)
  return { organization, call, receiver, id, secret, path: `/v5/webhooks/${id}` }
}

export const newContact = (call: Call, body: object = {}): Promise<Json> =>
  created(call, '/v5/contacts', { name: 'Ada Lovelace', ...body })

/** Sends two events to another webhook, which is due after this one: what can be sent now has been sent when they arrive. */
export async function sendAllThatIsDue(call: Call): Promise<void> {
  const witness = await new Receiver().open()
  await newWebhook(call, witness, { events: ['company.*'], scopes: ['company:list:read'] })
  for (const count of [1, 2]) {
    await created(call, '/v5/companies', { name: `Engines ${count}` })
    await witness.count(count)
  }
  await witness.close()
}

/** Makes what was planned and stored for webhooks as much older, but not the leases: sessions in progress go on. */
export async function pass({ database }: TestService, seconds: number): Promise<void> {
  const age = sql`make_interval(secs => ${seconds})`
  for (const statement of [
    sql`update webhook_deliveries set next_attempt_at = next_attempt_at - ${age} where status <> 'delivering'`,
    sql`update webhook_secrets set ends_at = ends_at - ${age} where ends_at < 'infinity'`,
    sql`update webhook_states set due_at = due_at - ${age}, failing_since = failing_since - ${age},
      blocked_until = blocked_until - ${age}`,
  ])
    await database.crossTenantQuery('check the database', statement)
}

/** The only delivery of the webhook with its attempts, once it meets the condition. */
export async function deliveryOf(
  { call, path }: Pick<Hooked, 'call' | 'path'>,
  condition: (delivery: Json) => boolean,
): Promise<Json> {
  let found: Json
  await until('the delivery is as expected', async () => {
    const [first] = (await call('GET', `${path}/deliveries?sort=asc`)).body
    found = first && (await call('GET', `${path}/deliveries/${first.id}`)).body
    return found !== undefined && condition(found)
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(found)}`)
  })
  return found
}

export const hasStatus =
  (status: string) =>
  (delivery: Json): boolean =>
    delivery.status === status
