import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sql } from '../../platform/model/sql.ts'
import { decodeId } from '../../platform/model/ids.ts'
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
/** The ids of the first pipeline's stages, by name. */
let stage: Record<string, string>
beforeAll(async () => {
  service = await startTestService()
})
beforeEach(async () => {
  organization = await service.newOrganization()
  call = organization.call
  const [pipeline] = (await call('GET', '/v5/pipelines')).body
  pipelineId = pipeline.id
  stage = await stagesOf(pipelineId)
})
afterAll(() => service.close())

async function stagesOf(id: string): Promise<Record<string, string>> {
  const { body } = await call('GET', `/v5/pipelines/${id}/stages?orderBy=position&sort=asc`)
  return Object.fromEntries(body.map((one: Json) => [one.name, one.id]))
}

async function newDeal(values: object = {}): Promise<Json> {
  const created = await call('POST', '/v5/deals', { body: { name: 'Engine', ...values } })
  expect(created.status, created.text).toBe(201)
  return created.body
}

const change = async (id: string, body: object): Promise<Json> => {
  const changed = await call('PATCH', `/v5/deals/${id}`, { body })
  expect(changed.status, changed.text).toBe(200)
  return changed.body
}

const move = (id: string, body: object) => call('POST', `/v5/deals/${id}/move`, { body })

const movesOf = async (id: string): Promise<Json[]> => (await call('GET', `/v5/deals/${id}/stage-moves?sort=asc`)).body

/** The names of the deals in a stage, from the top of the board's column. */
const columnOf = async (stageId: string): Promise<string[]> =>
  (await call('GET', `/v5/deals?stageId=${stageId}&orderBy=position&sort=asc`)).body.map(({ name }: Json) => name)

test('an organization starts with a pipeline of six stages', async () => {
  const { body: pipelines } = await call('GET', '/v5/pipelines')
  expect(pipelines).toMatchObject([{ name: 'Sales' }])
  const { body } = await call('GET', `/v5/pipelines/${pipelineId}/stages?orderBy=position&sort=asc`)
  expect(body.map(({ name, kind, probability, position }: Json) => [name, kind, probability, position])).toEqual([
    ['Lead', 'open', 10, 0],
    ['Qualified', 'open', 25, 1],
    ['Proposal', 'open', 50, 2],
    ['Negotiation', 'open', 75, 3],
    ['Won', 'won', 100, 4],
    ['Lost', 'lost', 0, 5],
  ])
})

test('a deal with a name only is open, in the first stage, in the currency of the organization', async () => {
  await callAs(service, organization.accessToken)('PATCH', '/v5/organization', { body: { defaultCurrency: 'CHF' } })
  expect(await newDeal()).toMatchObject({
    pipelineId,
    pipeline: { name: 'Sales' },
    stageId: stage.Lead,
    stage: { name: 'Lead', probability: 10, rottingDays: 14 },
    status: 'open',
    currency: 'CHF',
    amount: null,
    closedAt: null,
    lastActivityAt: null,
  })
  expect(await newDeal({ currency: 'usd', amount: '0012500.50' })).toMatchObject({
    currency: 'USD',
    amount: '12500.50',
  })
})

test('a deal is created in a stage, in the first stage of a pipeline, or in both if they fit', async () => {
  const { body: other } = await call('POST', '/v5/pipelines', { body: { name: 'Partners' } })
  const empty = await call('POST', '/v5/deals', { body: { name: 'Engine', pipelineId: other.id } })
  expect(empty).toMatchObject({
    status: 422,
    body: { details: [{ field: 'pipelineId', message: 'has no stage; add one first' }] },
  })
  const stagesPath = `/v5/pipelines/${other.id}/stages`
  const second = (await call('POST', stagesPath, { body: { name: 'Signed', kind: 'won' } })).body
  const first = (await call('POST', stagesPath, { body: { name: 'Asked', position: 0 } })).body
  expect(first).toMatchObject({ kind: 'open', probability: 50, position: 0 })
  expect(await newDeal({ pipelineId: other.id })).toMatchObject({ pipelineId: other.id, stageId: first.id })
  expect(await newDeal({ stageId: second.id })).toMatchObject({ pipelineId: other.id, status: 'won' })
  expect(await newDeal({ pipelineId: other.id, stageId: second.id })).toMatchObject({ stageId: second.id })
  const wrong = { field: 'stageId', message: 'is not a stage of this pipeline' }
  for (const body of [
    { name: 'Engine', pipelineId, stageId: second.id },
    { name: 'Engine', pipelineId: other.id, stageId: stage.Lead },
  ])
    expect(await call('POST', '/v5/deals', { body })).toMatchObject({ status: 422, body: { details: [wrong] } })
  // Also where one of the two is what the deal has already.
  const deal = await newDeal()
  for (const body of [
    { pipelineId, stageId: second.id },
    { pipelineId: other.id, stageId: stage.Lead },
  ])
    expect(await call('PATCH', `/v5/deals/${deal.id}`, { body })).toMatchObject({
      status: 422,
      body: { details: [wrong] },
    })
  expect(await change(deal.id, { pipelineId: other.id })).toMatchObject({ stageId: first.id, pipelineId: other.id })
})

test('moving a deal to a won or lost stage closes it, and moving it back reopens it', async () => {
  const { id } = await newDeal()
  const won = await change(id, { stageId: stage.Won })
  expect(won).toMatchObject({
    status: 'won',
    closedAt: won.updatedAt,
    lastActivityAt: won.updatedAt,
    stageChangedAt: won.updatedAt,
  })
  const lost = await change(id, { stageId: stage.Lost, lostReason: 'Too expensive' })
  expect(lost).toMatchObject({ status: 'lost', closedAt: lost.updatedAt, lostReason: 'Too expensive' })
  expect((await move(id, { stageId: stage.Lost, lostReason: null })).body).toMatchObject({ lostReason: null })
  expect((await move(id, { stageId: stage.Lost, lostReason: 'Too late' })).body).toMatchObject({
    lostReason: 'Too late',
  })
  expect(await change(id, { stageId: stage.Proposal })).toMatchObject({
    status: 'open',
    closedAt: null,
    lostReason: null,
  })
  for (const body of [{ lostReason: 'Why?' }, { lostReason: 'Why?', stageId: stage.Won }]) {
    expect(await call('PATCH', `/v5/deals/${id}`, { body })).toMatchObject({
      status: 422,
      body: { details: [{ field: 'lostReason', message: 'only a deal in a lost stage has a reason' }] },
    })
  }
  expect((await call('PATCH', `/v5/deals/${id}`, { body: { status: 'won' } })).body.details).toEqual([
    { field: 'status', message: 'is read-only' },
  ])
})

test('a closed deal that moves to another stage of the same kind keeps the time when it was closed', async () => {
  const path = `/v5/pipelines/${pipelineId}/stages`
  const stageOf = async (name: string, kind: string) => (await call('POST', path, { body: { name, kind } })).body.id
  const [paid, filed] = [await stageOf('Paid', 'won'), await stageOf('Filed', 'won')]
  const { id } = await newDeal({ stageId: stage.Won })
  const { body: won } = await call('GET', `/v5/deals/${id}`)
  expect(won.closedAt).toBe(won.createdAt)
  expect(await change(id, { stageId: paid })).toMatchObject({ stageId: paid, closedAt: won.closedAt })
  expect((await move(id, { stageId: filed })).body).toMatchObject({ stageId: filed, closedAt: won.closedAt })
  expect((await call('DELETE', `${path}/${filed}?moveDealsTo=${paid}`)).status).toBe(204)
  const { body: moved } = await call('GET', `/v5/deals/${id}`)
  expect(moved).toMatchObject({ stageId: paid, status: 'won', closedAt: won.closedAt })
  expect(moved.stageChangedAt > won.closedAt).toBe(true)

  const other = await stageOf('Lost to a rival', 'lost')
  const lost = await change(id, { stageId: stage.Lost, lostReason: 'Too expensive' })
  expect(lost.closedAt > won.closedAt).toBe(true)
  const kept = { closedAt: lost.closedAt, lostReason: 'Too expensive' }
  expect(await change(id, { stageId: other })).toMatchObject({ stageId: other, ...kept })
  expect((await call('DELETE', `${path}/${other}?moveDealsTo=${stage.Lost}`)).status).toBe(204)
  expect((await call('GET', `/v5/deals/${id}`)).body).toMatchObject({ status: 'lost', ...kept })
})

test('each move is recorded with the time in the stage and the person, and stays when stages are renamed', async () => {
  const deal = await newDeal()
  await service.database.crossTenantQuery(
    'check the database',
    sql`update deals set stage_changed_at = now() - interval '3 days' where id = ${decodeId('del', deal.id)}::uuid`,
  )
  await change(deal.id, { stageId: stage.Proposal })
  await change(deal.id, { stageId: stage.Proposal, name: 'Same stage' })
  await callAs(service, organization.accessToken)('POST', `/v5/deals/${deal.id}/move`, { body: { stageId: stage.Won } })
  await call('PATCH', `/v5/pipelines/${pipelineId}/stages/${stage.Proposal}`, { body: { name: 'Offer' } })
  const moves = await movesOf(deal.id)
  expect(moves).toMatchObject([
    {
      dealId: deal.id,
      fromStageId: stage.Lead,
      fromStageName: 'Lead',
      toStageName: 'Proposal',
      movedById: organization.userId,
    },
    { fromStageId: stage.Proposal, fromStageName: 'Proposal', toStageId: stage.Won, movedById: organization.userId },
  ])
  expect(moves[0].secondsInStage).toBeGreaterThanOrEqual(3 * 86_400)
  expect(moves[0].secondsInStage).toBeLessThan(3 * 86_400 + 600)
  expect(moves[1].secondsInStage).toBeLessThan(600)
})

test('a deal that enters a stage is at its top, and moves next to another deal', async () => {
  const [a, b, c] = [await newDeal({ name: 'a' }), await newDeal({ name: 'b' }), await newDeal({ name: 'c' })]
  const lead = stage.Lead ?? ''
  expect(await columnOf(lead)).toEqual(['c', 'b', 'a'])
  expect((await move(c.id, { stageId: lead, afterId: b.id })).status).toBe(200)
  expect(await columnOf(lead)).toEqual(['b', 'c', 'a'])
  await move(a.id, { stageId: lead, beforeId: c.id })
  expect(await columnOf(lead)).toEqual(['b', 'a', 'c'])
  await move(b.id, { stageId: lead, afterId: c.id })
  expect(await columnOf(lead)).toEqual(['a', 'c', 'b'])
  await move(b.id, { stageId: lead, beforeId: a.id })
  expect(await columnOf(lead)).toEqual(['b', 'a', 'c'])
  await move(c.id, { stageId: lead })
  expect(await columnOf(lead)).toEqual(['c', 'b', 'a'])
  await move(c.id, { stageId: lead, afterId: a.id })
  const d = await newDeal({ name: 'd', stageId: stage.Won })
  expect((await move(d.id, { stageId: lead, afterId: a.id })).body).toMatchObject({ status: 'open', stageId: lead })
  expect(await columnOf(lead)).toEqual(['b', 'a', 'd', 'c'])
  expect((await movesOf(d.id)).length).toBe(1)
  expect((await movesOf(a.id)).length).toBe(0)
  await change(d.id, { stageId: stage.Won })
  await change(d.id, { stageId: lead })
  expect(await columnOf(lead)).toEqual(['d', 'b', 'a', 'c'])
})

test('there is always room between two deals, however often deals move there', async () => {
  const lead = stage.Lead ?? ''
  const [low, high] = [await newDeal({ name: 'low' }), await newDeal({ name: 'high' })]
  const [one, two] = [await newDeal({ name: 'one' }), await newDeal({ name: 'two' })]
  for (let round = 0; round < 60; round++) {
    const [upper, lower] = round % 2 === 0 ? [one, two] : [two, one]
    await move(lower.id, { stageId: lead, afterId: high.id })
    await move(upper.id, { stageId: lead, afterId: high.id })
  }
  expect(await columnOf(lead)).toEqual(['high', 'two', 'one', 'low'])
  const { body } = await call('GET', `/v5/deals/${two.id}`)
  expect(body.position.length).toBeGreaterThan(40)
  expect(
    (await call('GET', `/v5/deals?stageId=${lead}&orderBy=position&sort=asc&startingAfter=${two.id}&limit=1`)).body,
  ).toMatchObject([{ id: one.id }])
  expect(low.name).toBe('low')
})

test('a move names a stage and a deal that are there', async () => {
  const [a, b] = [await newDeal(), await newDeal({ stageId: stage.Won })]
  const other = await service.newOrganization()
  const { body: theirs } = await other.call('POST', '/v5/deals', { body: { name: 'Theirs' } })
  const lead = stage.Lead ?? ''
  const refusals: [object, string, string][] = [
    [{}, 'stageId', 'is required'],
    [{ stageId: lead, afterId: b.id }, 'afterId', 'no other deal with this id is in this stage'],
    [{ stageId: lead, beforeId: a.id }, 'beforeId', 'no other deal with this id is in this stage'],
    [{ stageId: lead, beforeId: theirs.id }, 'beforeId', 'no other deal with this id is in this stage'],
    [{ stageId: theirs.stageId }, 'stageId', 'no stage with this id exists'],
    [{ stageId: lead, afterId: b.id, beforeId: b.id }, 'beforeId', 'cannot be combined with afterId'],
    [{ stageId: stage.Won, lostReason: 'No' }, 'lostReason', 'only a deal in a lost stage has a reason'],
  ]
  for (const [body, field, message] of refusals) {
    expect(await move(a.id, body)).toMatchObject({ status: 422, body: { details: [{ field, message }] } })
  }
  expect((await call('GET', `/v5/deals/${a.id}`)).body).toEqual(a)
  expect((await move(theirs.id, { stageId: lead })).status).toBe(404)
})

test('deleting a stage with deals asks where they go, and moves them there in order', async () => {
  const proposal = stage.Proposal ?? ''
  const path = `/v5/pipelines/${pipelineId}/stages/${proposal}`
  for (const name of ['a', 'b']) await newDeal({ name, stageId: proposal })
  await newDeal({ name: 'there', stageId: stage.Won })
  expect(await call('DELETE', path)).toMatchObject({
    status: 423,
    body: { code: 'resource_locked', details: [{ field: 'moveDealsTo' }] },
  })
  for (const target of [proposal, 'stg_00000000000000000000000000000000', 'elsewhere']) {
    const refused = await call('DELETE', `${path}?moveDealsTo=${target}`)
    expect(refused).toMatchObject({ status: 400, body: { details: [{ field: 'moveDealsTo' }] } })
  }
  expect(await columnOf(proposal)).toEqual(['b', 'a'])
  expect((await call('DELETE', `${path}?moveDealsTo=${stage.Won}`)).status).toBe(204)
  expect(await columnOf(stage.Won ?? '')).toEqual(['there', 'b', 'a'])
  const { body: deals } = await call('GET', '/v5/deals?name=a')
  expect(deals).toMatchObject([{ status: 'won', closedAt: deals[0].updatedAt, stageId: stage.Won }])
  expect(await movesOf(deals[0].id)).toMatchObject([{ fromStageName: 'Proposal', toStageName: 'Won' }])
  expect((await call('POST', `${path}/restore`)).status).toBe(200)
  expect(await columnOf(proposal)).toEqual([])
})

test('changing the kind of a stage closes or reopens its deals, without a move', async () => {
  const path = `/v5/pipelines/${pipelineId}/stages/${stage.Proposal}`
  const deal = await newDeal({ stageId: stage.Proposal })
  expect((await call('PATCH', path, { body: { kind: 'lost' } })).body).toMatchObject({ kind: 'lost', probability: 0 })
  const lost = (await call('GET', `/v5/deals/${deal.id}`)).body
  expect(lost).toMatchObject({ status: 'lost', closedAt: lost.updatedAt, position: deal.position })
  await change(deal.id, { lostReason: 'Too expensive' })
  expect((await call('PATCH', path, { body: { kind: 'open' } })).body).toMatchObject({ probability: 50 })
  expect((await call('PATCH', path, { body: { name: 'Offer' } })).body).toMatchObject({ probability: 50 })
  expect((await call('GET', `/v5/deals/${deal.id}`)).body).toMatchObject({
    status: 'open',
    closedAt: null,
    lostReason: null,
  })
  const { body: history } = await call('GET', `/v5/deals/${deal.id}/timeline?kind=change&limit=1`)
  expect(history[0].change).toMatchObject({
    action: 'updated',
    source: 'api_key',
    changes: [{ field: 'lostReason', before: 'Too expensive', after: null }],
  })
  expect(await movesOf(deal.id)).toEqual([])
  expect(await call('PATCH', path, { body: { kind: 'won', probability: 90 } })).toMatchObject({
    status: 422,
    body: { details: [{ field: 'probability', message: 'must be 100 in a stage of the kind won' }] },
  })
})

test('a pipeline with deals cannot be deleted, and a deal returns only to a stage that exists', async () => {
  const deal = await newDeal()
  const path = `/v5/pipelines/${pipelineId}`
  expect(await call('DELETE', path)).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
  await call('DELETE', `/v5/deals/${deal.id}`)
  expect((await call('DELETE', path)).status).toBe(204)
  const restore = () => call('POST', `/v5/deals/${deal.id}/restore`)
  expect(await restore()).toMatchObject({ status: 423, body: { code: 'resource_locked' } })
  expect(await call('POST', '/v5/deals', { body: { name: 'Engine' } })).toMatchObject({
    status: 422,
    body: {
      details: [
        {
          field: 'stageId',
          message: 'the oldest pipeline has no stage, or there is no pipeline; name a stage or add one first',
        },
      ],
    },
  })
  for (const body of [
    { name: 'Engine', pipelineId },
    { name: 'Engine', stageId: stage.Lead },
  ])
    expect((await call('POST', '/v5/deals', { body })).status).toBe(422)
  await call('POST', `${path}/restore`)
  expect((await restore()).status).toBe(200)
})

test('a restored deal has the status that its stage has now', async () => {
  const deal = await newDeal({ stageId: stage.Proposal })
  await call('DELETE', `/v5/deals/${deal.id}`)
  await call('PATCH', `/v5/pipelines/${pipelineId}/stages/${stage.Proposal}`, { body: { kind: 'won' } })
  const { body } = await call('POST', `/v5/deals/${deal.id}/restore`)
  expect(body).toMatchObject({ status: 'won', closedAt: body.updatedAt })
})

test('a deal created while its stage is being deleted is either moved or refused', async () => {
  const path = `/v5/pipelines/${pipelineId}/stages/${stage.Proposal}`
  const creates = Array.from({ length: 20 }, (_, index) =>
    call('POST', '/v5/deals', { body: { name: `Deal ${index}`, stageId: stage.Proposal } }),
  )
  const deleted = await call('DELETE', `${path}?moveDealsTo=${stage.Lead}`)
  const statuses = (await Promise.all(creates)).map(({ status }) => status)
  expect(deleted.status).toBe(204)
  expect(statuses.filter((status) => status !== 201 && status !== 422)).toEqual([])
  const { body } = await call('GET', '/v5/deals?limit=100')
  expect(body).toHaveLength(statuses.filter((status) => status === 201).length)
  expect(body.filter((deal: Json) => deal.stageId !== stage.Lead)).toEqual([])
})

test('external ids are unique among the deals of an organization', async () => {
  const deal = await newDeal({ externalIds: { billing: '42' } })
  const taken = await call('POST', '/v5/deals', { body: { name: 'Twin', externalIds: { billing: '42' } } })
  expect(taken).toMatchObject({ status: 409, body: { details: [{ field: 'externalIds', id: deal.id }] } })
  await call('DELETE', `/v5/deals/${deal.id}`)
  await newDeal({ name: 'Twin', externalIds: { billing: '42' } })
  expect((await call('POST', `/v5/deals/${deal.id}/restore`)).status).toBe(409)
})

test('an expected date is a day that exists, and is filtered as one', async () => {
  for (const value of ['2026-02-30', '2026-2-3', 'tomorrow', '2026-12-24T00:00:00Z', '0000-01-01'])
    expect(await call('POST', '/v5/deals', { body: { name: 'Engine', expectedCloseDate: value } })).toMatchObject({
      status: 422,
      body: { details: [{ field: 'expectedCloseDate', message: 'expected a date, such as "2026-12-24"' }] },
    })
  const [early, late] = [
    await newDeal({ expectedCloseDate: '2026-12-23' }),
    await newDeal({ expectedCloseDate: '2026-12-24' }),
  ]
  const ids = async (filter: string) =>
    (await call('GET', `/v5/deals?filter.expectedCloseDate.${filter}`)).body.map(({ id }: Json) => id)
  expect(await ids('equals=2026-12-24')).toEqual([late.id])
  expect(await ids('lt=2026-12-24')).toEqual([early.id])
  expect(await ids('gt=2026-12-23')).toEqual([late.id])
  expect(await ids('lte=2026-12-23T23:59:59Z')).toEqual([early.id])
})

test('the members of the organization can change deals, and only administrators its pipelines', async () => {
  const member = await organization.withScopes(['deal:*:read', 'deal:*:write', 'pipeline:*:read', 'stage:*:read'])
  const { body } = await member('POST', '/v5/deals', { body: { name: 'Engine' } })
  expect((await member('POST', `/v5/deals/${body.id}/move`, { body: { stageId: stage.Won } })).status).toBe(200)
  expect((await member('POST', '/v5/pipelines', { body: { name: 'Other' } })).status).toBe(403)
  expect((await member('DELETE', `/v5/pipelines/${pipelineId}/stages/${stage.Lead}`)).status).toBe(403)
})
