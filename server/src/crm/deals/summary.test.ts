import { afterAll, beforeAll, expect, test } from 'vitest'
import { decodeId } from '../../platform/model/ids.ts'
import { sql } from '../../platform/model/sql.ts'
import { callAs } from '../../../test/people.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let pipelineId: string
let stage: Record<string, string>
const deals: Json[] = []
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  call = organization.call
  pipelineId = (await call('GET', '/v5/pipelines')).body[0].id
  const { body } = await call('GET', `/v5/pipelines/${pipelineId}/stages`)
  stage = Object.fromEntries(body.map((one: Json) => [one.name, one.id]))
  const company = (await call('POST', '/v5/companies', { body: { name: 'Engines' } })).body
  for (const values of [
    { amount: '100.10', stageId: stage.Lead, expectedCloseDate: '2026-12-31', companyId: company.id },
    { amount: '0.05', stageId: stage.Lead, expectedCloseDate: '2027-01-01' },
    { stageId: stage.Lead },
    { amount: '7', currency: 'USD', stageId: stage.Lead, expectedCloseDate: '2026-12-01' },
    { amount: '12345678901234567890', stageId: stage.Negotiation, expectedCloseDate: '2026-12-24' },
    { amount: '500', stageId: stage.Won },
    { amount: '900', stageId: stage.Lost, expectedCloseDate: '2026-12-24' },
  ])
    deals.push((await call('POST', '/v5/deals', { body: { name: 'Deal', currency: 'EUR', ...values } })).body)
  const { body: deleted } = await call('POST', '/v5/deals', { body: { name: 'Deleted', amount: '1000' } })
  await call('DELETE', `/v5/deals/${deleted.id}`)
  const other = await service.newOrganization()
  await other.call('POST', '/v5/deals', { body: { name: 'Theirs', amount: '1000' } })
})
afterAll(() => service.close())

const row = (name: string, currency: string, count: number, sum: string, weightedSum: string) => ({
  id: `${stage[name]}-${currency}`,
  pipelineId,
  stageId: stage[name],
  currency,
  count,
  sum,
  weightedSum,
})

test('the summary counts and sums deals by stage and currency, exactly', async () => {
  expect((await call('GET', '/v5/deals/summary')).body).toEqual([
    row('Lead', 'EUR', 3, '100.15', '10.015'),
    row('Lead', 'USD', 1, '7', '0.7'),
    row('Negotiation', 'EUR', 1, '12345678901234567890', '9259259175925925917.5'),
    row('Won', 'EUR', 1, '500', '500'),
    row('Lost', 'EUR', 1, '900', '0'),
  ])
})

test('the summary takes the filters and the search of the list', async () => {
  const sum = async (query: string) => (await call('GET', `/v5/deals/summary?${query}`)).body
  expect(await sum('status=open&currency=USD')).toEqual([row('Lead', 'USD', 1, '7', '0.7')])
  expect(await sum('filter.company.name.contains=eng')).toEqual([row('Lead', 'EUR', 1, '100.10', '10.01')])
  expect(await sum('filter.stage.name.equals=Won')).toEqual([row('Won', 'EUR', 1, '500', '500')])
  expect(await sum('query=nothing')).toEqual([])
  expect(await sum(`pipelineId=${pipelineId}&filter.amount.gt=800&status=lost`)).toEqual([
    row('Lost', 'EUR', 1, '900', '0'),
  ])
  for (const query of ['limit=0', 'filter.amount.contains=1', 'status=closed', 'x=1'])
    expect([query, (await call('GET', `/v5/deals/summary?${query}`)).status]).toEqual([query, 400])
})

test('the sums take the filter tree of a search, and a saved view', async () => {
  const body = {
    filter: { or: [{ currency: { equals: 'USD' } }, { company: { some: { name: { contains: 'eng' } } } }] },
  }
  const lead = [row('Lead', 'EUR', 1, '100.10', '10.01'), row('Lead', 'USD', 1, '7', '0.7')]
  const sum = async (sent: object) => (await call('POST', '/v5/deals/search/summary', { body: sent })).body
  expect(await sum(body)).toEqual(lead)
  const { id } = (await call('POST', '/v5/views', { body: { name: 'Both', resource: 'deals', ...body } })).body
  expect(await sum({ view: id })).toEqual(lead)
  expect(await sum({ view: id, filter: { currency: { equals: 'EUR' } } })).toEqual([lead[0]])
  const { body: forecast } = await call('POST', '/v5/deals/search/forecast', { body })
  expect(forecast.map(({ currency }: Json) => currency)).toEqual(['EUR', 'USD'])
  for (const sent of [{ limit: 1 }, { filter: { amount: { contains: '1' } } }, { filter: { or: 1 } }])
    expect((await call('POST', '/v5/deals/search/summary', { body: sent })).status).toBe(422)
})

test('the forecast has open deals in their expected month and won deals in the month of the organization’s zone', async () => {
  await callAs(service, organization.accessToken)('PATCH', '/v5/organization', {
    body: { timeZone: 'Pacific/Auckland' },
  })
  await service.database.crossTenantQuery(
    'check the database',
    sql`update deals set closed_at = '2026-11-30T12:00:00Z' where id = ${decodeId('del', deals[5].id)}::uuid`,
  )
  const none = { count: 0, sum: '0' }
  expect((await call('GET', '/v5/deals/forecast')).body).toEqual([
    {
      id: '2026-12-EUR',
      month: '2026-12',
      currency: 'EUR',
      open: { count: 2, sum: '12345678901234567990.10', weightedSum: '9259259175925925927.51' },
      won: { count: 1, sum: '500' },
    },
    {
      id: '2026-12-USD',
      month: '2026-12',
      currency: 'USD',
      open: { count: 1, sum: '7', weightedSum: '0.7' },
      won: none,
    },
    {
      id: '2027-01-EUR',
      month: '2027-01',
      currency: 'EUR',
      open: { count: 1, sum: '0.05', weightedSum: '0.005' },
      won: none,
    },
    { id: 'none-EUR', month: null, currency: 'EUR', open: { count: 1, sum: '0', weightedSum: '0' }, won: none },
  ])
  const open = (await call('GET', '/v5/deals/forecast?status=open&filter.expectedCloseDate.gte=2027-01-01')).body
  expect(open.map(({ month }: Json) => month)).toEqual(['2027-01'])
})
