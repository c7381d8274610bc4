import { expect } from 'vitest'
import type { Call, Json, TestService } from './service.ts'

/** Creates an organization with these contacts, named by their number in the given order. */
export async function withContacts(service: TestService, bodies: readonly object[]): Promise<Call> {
  const { call } = await service.newOrganization()
  for (const [index, body] of bodies.entries()) {
    const created = await call('POST', '/v5/contacts', { body: { name: `${index + 1}`, ...body } })
    if (created.status !== 201) throw new Error(created.text)
  }
  return call
}

/** Runs `work` for six items at a time: fewer than the service has connections, so that none gets 503. */
export async function runConcurrently<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = items.values()
  const workers = Array.from({ length: 4 }, async () => {
    for (const item of remaining) await work(item)
  })
  await Promise.all(workers)
}

/** The names of the contacts that a query finds, oldest first. */
export async function namesOf(call: Call, query: string): Promise<string[]> {
  const { status, body, text } = await call('GET', `/v5/contacts?sort=asc&${query}`)
  if (status !== 200) throw new Error(`${query}: ${text}`)
  return body.map(({ name }: Json) => name)
}

/** Checks each query against the numbers of the contacts that it must find. */
export async function expectFound(call: Call, cases: Record<string, number[]>): Promise<void> {
  for (const [query, numbers] of Object.entries(cases)) {
    expect([query, await namesOf(call, query)]).toEqual([query, numbers.map(String)])
  }
}

/** Checks that each query has exactly one error, with this field and a message that contains this text. */
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

/** `count` parameters, joined by `&`. */
export const repeated = (count: number, of: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => of(index)).join('&')
