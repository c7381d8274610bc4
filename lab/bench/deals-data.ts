import type pg from 'pg'
import { copyRows } from './copy.ts'
import { cities, industries, Random } from './people.ts'
import { type TableRow, uuid } from './records.ts'

/** Contacts that have a history, and the number of entries of each. */
export const histories = { contacts: 1000, entries: 40 }

/** Adds a deal for every tenth contact of the measured organization, and a history for some contacts. */
export async function fillDeals(
  client: pg.Client,
  { organizationId, contacts, companies }: { organizationId: string; contacts: number; companies: number },
): Promise<void> {
  const { rows: stages } = await client.query<Stage>(
    'select id, pipeline_id, kind from stages where organization_id = $1 order by position',
    [organizationId],
  )
  const count = Math.ceil(contacts / 10)
  const random = new Random(6)
  const rows = Array.from({ length: count }, (_, index): readonly [string, TableRow] => [
    organizationId,
    makeDeal(random, index, { stages, companies }),
  ])
  await copyRows(client, 'deals', Object.keys(rows[0]?.[1] ?? {}), rows)
  // Dated now, unlike the contacts, whose dates are fixed: the service purges histories that are years old.
  await client.query(
    `insert into events (organization_id, id, resource, is_history, record_id, kind, source, changes, created_at, position)
     select organization_id, new_id(), 'contact', true, id, 'updated', 'person',
       '[{"field": "city", "before": "Bern", "after": "Basel"}]', now() - number * interval '1 hour', 0
     from (select * from contacts where organization_id = $1 order by id limit $2) contact,
       generate_series(1, $3) number`,
    [organizationId, histories.contacts, histories.entries],
  )
}

interface Stage {
  id: string
  pipeline_id: string
  kind: string
}

function makeDeal(
  random: Random,
  index: number,
  { stages, companies }: { stages: readonly Stage[]; companies: number },
): TableRow {
  const stage = stages[random.below(stages.length)]
  if (!stage) throw new Error('The organization has no stages.')
  const time = new Date(1_600_000_000_000 + index * 600_000).toISOString()
  return {
    id: uuid(6, index),
    name: `${random.pick(cities)} ${random.pick(industries)} ${index}`,
    amount: `${random.below(100_000)}.50`,
    currency: random.below(4) === 0 ? 'USD' : 'EUR',
    pipeline_id: stage.pipeline_id,
    stage_id: stage.id,
    status: stage.kind,
    company_id: companies > 0 ? uuid(3, random.below(companies)) : null,
    expected_close_date: `20${25 + random.below(5)}-0${1 + random.below(9)}-15`,
    position: String(-index),
    stage_changed_at: time,
    closed_at: stage.kind === 'open' ? null : time,
    created_at: time,
    updated_at: time,
  }
}
