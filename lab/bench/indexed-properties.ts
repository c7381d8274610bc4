import { headersOf } from './http.ts'
import { scores, tiers } from './records.ts'
import { rowNames } from './row-names.ts'
import type { ReadQuery } from './read-queries.ts'
import type { Testbed } from './stage.ts'
import { type Sample } from './sample.ts'
import { encodeId } from '../../server/src/platform/model/ids.ts'

/** The custom properties of contacts that are indexed for these rows. */
const keys = ['score', 'tier'] as const

/** Milliseconds to wait for the service to notice that the indexes are complete. */
const readyTimeout = 60_000

type Send = (method: string, path: string, body?: object) => Promise<Definition>

interface Definition {
  id: string
  indexState: string
}

const sender =
  ({ account, service }: Testbed): Send =>
  async (method, path, body) => {
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
      method,
      headers: { ...headersOf(account), 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}\n${text}`)
    return JSON.parse(text) as Definition
  }

/** Defines the properties without an index, before any record exists whose values would have to be checked. */
export async function defineProperties(stage: Testbed): Promise<void> {
  for (const key of keys)
    await sender(stage)('POST', '/v5/properties', { resource: 'contacts', key, type: 'number', label: key })
}

/** Builds the indexes of the properties. Returns a function that drops them. */
export async function indexProperties(stage: Testbed): Promise<() => Promise<void>> {
  const { client, measured, log } = stage
  const send = sender(stage)
  log('Indexing custom properties…')
  const { rows } = await client.query<{ id: string }>('select id from properties where organization_id = $1', [
    measured.organizationId,
  ])
  const ids = rows.map(({ id }) => encodeId('prp', id))
  for (const id of ids) await send('PATCH', `/v5/properties/${id}`, { indexed: true })
  // The service would do this in small steps. It skips what another process has locked.
  await client.query('begin')
  await client.query('select from property_indexes where organization_id = $1 for update', [measured.organizationId])
  await client.query(
    `insert into property_entries (organization_id, record_id, index_id, value_hash, number, text, created_at)
     select record.organization_id, record.id, index.id, entry.value_hash, entry.number, entry.text, record.created_at
     from property_indexes index join contacts record using (organization_id)
     cross join lateral property_values_of(index.id, index.type, '', record.custom_properties -> index.key) entry
     where organization_id = $1 and record.deleted_at is null on conflict do nothing`,
    [measured.organizationId],
  )
  await client.query(
    `update property_indexes set built_to = 'ffffffff-ffff-ffff-ffff-ffffffffffff' where organization_id = $1`,
    [measured.organizationId],
  )
  await client.query('commit')
  const until = performance.now() + readyTimeout
  for (const id of ids)
    while ((await send('GET', `/v5/properties/${id}`)).indexState !== 'ready')
      if (performance.now() > until) throw new Error('The indexes were not completed.')
  await client.query('vacuum analyze property_entries')
  return async () => {
    for (const id of ids) await send('PATCH', `/v5/properties/${id}`, { indexed: false })
  }
}

/** The read rows of indexed properties. */
export function indexedQueries(sample: Sample): ReadQuery[] {
  const pageSize = 25
  const list = (query: string) => `/v5/contacts?${query}`
  const score = (operator: string, value: number) => `filter.customProperties.score.${operator}=${value}`
  const common = sample.contacts >= 10_000 ? pageSize : 0
  const numbers = (length: number) => Array.from({ length }, (_, index) => index)
  const order = 'orderBy=customProperties.score'
  return [
    {
      name: rowNames.indexed,
      targets: numbers(scores).map((value) => list(score('equals', value))),
      records: [common, pageSize],
    },
    {
      name: rowNames.indexedRange,
      targets: numbers(scores - 1).map((value) => list(`${score('gte', value)}&${score('lt', value + 1)}`)),
      records: [common, pageSize],
    },
    {
      name: rowNames.indexedOrder,
      targets: [
        ...['asc', 'desc'].map((sort) => list(`${order}&sort=${sort}`)),
        ...sample.ids.slice(0, 100).map((id) => list(`${order}&sort=asc&startingAfter=${encodeId('con', id)}`)),
      ],
      records: [0, pageSize],
    },
    {
      name: rowNames.indexedCount,
      targets: numbers(tiers).map((tier) => `/v5/contacts/count?filter.customProperties.tier.equals=${tier}`),
      records: undefined,
    },
  ]
}
