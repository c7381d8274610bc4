import { expect } from 'vitest'
import { decodeId } from '../../server/src/platform/model/ids.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import type { Call, Json, TestService } from '../../server/test/service.ts'
import { demoDay } from './seeded-database.ts'

/** By stage, from the top: name, amount, currency, expected close date (days from the demo’s last day). */
const samples: Readonly<Record<string, readonly (readonly [string, string | null, string, number | null])[]>> = {
  Lead: [
    ['Annual licence', '12000', 'EUR', 40],
    ['Field sales rollout', '26700', 'EUR', 55],
    ['Training package', '2700', 'EUR', 31],
    ['Data migration', null, 'EUR', null],
    ['Security review', '7900', 'USD', 25],
    ['Onboarding, 12 sites', '18400', 'EUR', 62],
  ],
  Qualified: [
    ['Pilot, 40 seats', '50500', 'EUR', 33],
    ['Warehouse rollout', '26700.50', 'EUR', 30],
    ['Renewal 2027', '27400', 'USD', 27],
    ['Community sponsorship', '9730', 'EUR', 21],
  ],
  Proposal: [
    ['Event partnership', '51200', 'EUR', 26],
    ['Support upgrade', '27400', 'EUR', 23],
    ['API add-on', '98000', 'USD', 14],
  ],
  Negotiation: [
    ['Expansion EMEA', '113500', 'EUR', 10],
    ['Framework contract', '64000', 'EUR', 17],
  ],
  Won: [
    ['Machine park, phase 1', '106600', 'EUR', -4],
    ['Spare parts 2026', '28100', 'USD', -9],
  ],
  Lost: [['Night shift tools', '9400', 'EUR', -12]],
}

/**
 * Replaces the deals of the small organization by deals of the demo's companies, one of which has moved through several
 * stages.
 */
export async function addDeals(service: TestService, call: Call): Promise<void> {
  const created = async (method: 'POST' | 'PATCH', path: string, body: object): Promise<Json> => {
    const answer = await call(method, path, { body })
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body
  }
  const organizationId = decodeId('org', (await call('GET', '/v5/organization')).body.id)
  await service.database.crossTenantQuery(
    'check the database',
    sql`delete from deals where organization_id = ${organizationId}::uuid`,
  )
  const companies = (await call('GET', '/v5/companies?orderBy=employeesCount&sort=desc&limit=12')).body
  const [contact] = (await call('GET', '/v5/contacts?orderBy=createdAt&sort=asc&limit=1')).body
  const { id: ownerId } = (await call('GET', '/v5/me')).body
  const [pipeline] = (await call('GET', '/v5/pipelines?orderBy=createdAt&sort=asc&limit=1')).body
  const stages = (await call('GET', `/v5/pipelines/${pipeline.id}/stages?orderBy=position&sort=asc`)).body
  const stageId = (name: string) => stages.find((stage: Json) => stage.name === name).id
  let number = 0
  for (const [stage, deals] of Object.entries(samples))
    for (const [name, amount, currency, days] of deals.toReversed()) {
      const { id } = await created('POST', '/v5/deals', {
        name,
        amount,
        currency,
        stageId: stageId(name === 'Expansion EMEA' ? 'Lead' : stage),
        companyId: companies[number++ % companies.length].id,
        ownerId: number % 4 === 0 ? null : ownerId,
        expectedCloseDate: days === null ? null : dayAfter(days),
        ...(stage === 'Lost' && { lostReason: 'Too expensive' }),
      })
      if (name === 'Expansion EMEA') {
        for (const next of ['Qualified', 'Proposal', 'Negotiation'])
          await created('POST', `/v5/deals/${id}/move`, { stageId: stageId(next) })
        await created('POST', `/v5/deals/${id}/contacts`, {
          contactId: contact.id,
          role: 'decision_maker',
          isPrimary: true,
        })
      }
      await setTimes(service, id, name === 'Training package' ? 19 : 2 + (number % 9))
    }
}

const dayAfter = (days: number): string => new Date(Date.parse(demoDay) + days * 86_400_000).toISOString().slice(0, 10)

/** The pictures show the demo's last day, so they must not contain anything from today. */
async function setTimes({ database }: TestService, dealId: string, days: number): Promise<void> {
  const id = decodeId('del', dealId)
  const at = `${dayAfter(-days)}T10:15:00Z`
  await database.crossTenantQuery(
    'check the database',
    sql`update deals set stage_changed_at = ${at}::timestamptz, last_activity_at = null,
      created_at = ${at}::timestamptz - interval '12 days', updated_at = ${at}::timestamptz
      where id = ${id}::uuid`,
  )
  await database.crossTenantQuery(
    'check the database',
    sql`update stage_moves set seconds_in_stage = moved.number * 260000,
        created_at = ${at}::timestamptz - (3 - moved.number) * interval '4 days'
      from (select id, row_number() over (order by created_at, id) as number from stage_moves where deal_id = ${id}::uuid) moved
      where stage_moves.id = moved.id`,
  )
  await database.crossTenantQuery(
    'check the database',
    sql`update events set created_at = deals.created_at
      from deals where deals.id = ${id}::uuid and events.record_id = deals.id`,
  )
  // The moves also counted as activity of the company.
  await database.crossTenantQuery(
    'check the database',
    sql`update companies set last_activity_at = ${at}::timestamptz
      from deals where deals.id = ${id}::uuid and companies.id = deals.company_id
        and (companies.last_activity_at is null or companies.last_activity_at > ${demoDay}::timestamptz + interval '1 day')
        and exists (select from stage_moves where deal_id = deals.id)`,
  )
}
