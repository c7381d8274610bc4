import { expect } from 'vitest'
import type { Call, Json, TestService } from './service.ts'

/** An organization with contacts that are told apart by their name, in the order given. */
export async function withContacts(service: TestService, bodies: readonly object[]): Promise<Call> {
  const { call } = await service.newOrganization()
  for (const [index, body] of bodies.entries()) {
    const created = await call('POST', '/v5/contacts', { body: { name: `${index + 1}`, ...body } })
    if (created.status !== 201) throw new Error(created.text)
  }
  return call
}

/** Does it for all, some at a time: fewer than the service has connections, so that none is refused for waiting. */
export async function runConcurrently<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = items.values()
  const workers = Array.from({ length: 6 }, async () => {
    for (const item of remaining) await work(item)
  })
  await Promise.all(workers)
}

/** The names that a query finds, the oldest contact first. */
export async function namesOf(call: Call, query: string): Promise<string[]> {
  const { status, body, text } = await call('GET', `/v5/contacts?sort=asc&${query}`)
  if (status !== 200) throw new Error(`${query}: ${text}`)
  return body.map(({ name }: Json) => name)
}

/** Each query with the numbers of the contacts that it finds. */
export async function expectFound(call: Call, cases: Record<string, number[]>): Promise<void> {
  for (const [query, numbers] of Object.entries(cases)) {
    expect([query, await namesOf(call, query)]).toEqual([query, numbers.map(String)])
  }
}

/** Each query with the field, and a part of the message, of its one fault. */
export async function expectRefused(
  call: Call,
  cases: Record<string, [field: string, message: string]>,
  path = '/v5/contacts',
) {
  for (const [query, [field, message]] of Object.entries(cases)) {
    const { status, body } = await call('GET', `${path}?${query}`)
    expect([query, status, body]).toMatchObject([
      query,
      400,
      { code: 'invalid_parameters', status: 400, details: [{ field }] },
    ])
    expect([query, body.details[0].message]).toEqual([query, expect.stringContaining(message)])
  }
}

/** Something `count` times, as parameters. */
export const repeated = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => of(index)).join('&')
