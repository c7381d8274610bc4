import { expect } from 'vitest'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Call, Json, TestService } from '../../server/test/service.ts'

const answer = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>'
const failure = { status: 502, milliseconds: 341, answer, error: 'the receiver answered with status 502' }

/** By delivery: its status and its attempts, in seconds after it was made. */
const samples = [
  ['delivered', [[0, { status: 204, milliseconds: 27, answer: '', error: null }]]],
  [
    'failed',
    [
      [0, failure],
      [5, failure],
      [300, { ...failure, status: null, answer: null, error: 'it did not respond in time' }],
    ],
  ],
  [
    'delivered',
    [
      [0, failure],
      [5, { status: 200, milliseconds: 88, answer: '{"stored": true}', error: null }],
    ],
  ],
  [
    'retrying',
    [
      [0, failure],
      [5, failure],
    ],
  ],
] as const

/** A webhook of the organization that has everything that its pages can show, and one of its deliveries that failed. */
export async function addSampleWebhook(
  { database }: TestService,
  call: Call,
): Promise<{ webhook: string; delivery: string }> {
  const [known] = (await call('GET', '/v5/webhooks?description=Data%20warehouse')).body
  const webhook = known?.id ?? (await addWebhook(call))
  const path = `/v5/webhooks/${webhook}/deliveries?filter.status.equals=`
  if (known === undefined) {
    for (const [status, attempts] of samples) {
      const { body } = await call('POST', `/v5/webhooks/${webhook}/test`, { body: { type: 'contact.updated' } })
      await finish(database, body, { status, attempts })
    }
    await database.crossTenantQuery(
      'check the database',
      sql`update webhook_states set failures = 4, failing_since = now() - interval '2 hours', last_success_at = now() - interval '3 hours'
        where webhook_id = ${decodeId('whk', webhook)}::uuid`,
    )
  }
  return { webhook, delivery: (await call('GET', `${path}failed`)).body[0].id }
}

async function addWebhook(call: Call): Promise<string> {
  const { status, body, text } = await call('POST', '/v5/webhooks', {
    body: {
      url: 'https://warehouse.example.com/receivers/crm/contacts',
      description: 'Data warehouse',
      events: ['contact.created', 'contact.updated', 'contact.deleted'],
      scopes: ['contact:list:read', 'company:list:read'],
      filter: { or: [{ countryCode: { equals: 'DE' } }, { company: { some: { employeesCount: { gt: 500 } } } }] },
      changedFields: ['email', 'status', 'employmentTitle'],
      headers: { authorization: 'Bearer of-the-warehouse' },
    },
  })
  expect(status, text).toBe(201)
  return body.id
}

interface Ending {
  status: string
  attempts: readonly (readonly [seconds: number, attempt: object])[]
}

/** Ends a test event as if it had been a change. */
async function finish(database: TestService['database'], delivery: Json, { status, attempts }: Ending): Promise<void> {
  const began = Date.parse(delivery.createdAt)
  const stored = attempts.map(([seconds, attempt]) => ({
    at: new Date(began + seconds * 1000).toISOString(),
    ...attempt,
  }))
  const { error } = stored.at(-1) as { error?: string | null }
  const next = status === 'retrying' ? new Date(began + 86_400_000).toISOString() : null
  await database.crossTenantQuery(
    'check the database',
    sql`update webhook_deliveries set status = ${status}, attempts = ${JSON.stringify(stored)}::json,
        attempt_count = ${stored.length}, error = ${error ?? null}, next_attempt_at = ${next}::timestamptz, is_test = ${status === 'retrying'}
      where id = ${decodeId('wdl', delivery.id)}::uuid`,
  )
}
