import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Call, type Json, startTestService, type TestService } from '../../../../test/service.ts'

let service: TestService
let call: Call
beforeAll(async () => {
  service = await startTestService()
  call = (await service.newOrganization()).call
})
afterAll(() => service.close())

async function create(path: string, body: object): Promise<Json> {
  const made = await call('POST', path, { body })
  expect(made.status, made.text).toBe(201)
  return made.body
}

/** What remains of these steps if each arrival ends a departure; a chain leaves its start and its end. */
function endsOf(steps: readonly (readonly [string, string])[]): Record<string, number> {
  const balance: Record<string, number> = {}
  for (const [from, to] of steps) {
    balance[from] = (balance[from] ?? 0) + 1
    balance[to] = (balance[to] ?? 0) - 1
  }
  return Object.fromEntries(Object.entries(balance).filter(([, count]) => count !== 0))
}

const chain = (start: string, end: string) => (start === end ? {} : { [start]: 1, [end]: -1 })

test('moves of one deal at the same time each leave the stage that the previous one entered', async () => {
  const deal = await create('/v5/deals', { name: 'Engine' })
  const stages = (await call('GET', `/v5/pipelines/${deal.pipelineId}/stages`)).body.map(({ id }: Json) => id)
  const path = `/v5/deals/${deal.id}`
  const moves = Array.from({ length: 16 }, (_, index) =>
    call('POST', `${path}/move`, { body: { stageId: stages[index % 5] } }),
  )
  const wanted = (await Promise.all(moves)).map(({ status, body }, index) => [
    status,
    body.stageId === stages[index % 5],
  ])
  expect(wanted).toEqual(wanted.map(() => [200, true]))
  const { stageId } = (await call('GET', path)).body
  const recorded = (await call('GET', `${path}/stage-moves?limit=100`)).body
  const steps = recorded.map(({ fromStageId, toStageId }: Json) => [fromStageId, toStageId] as const)
  expect(endsOf(steps)).toEqual(chain(deal.stageId, stageId))
})

test('changes of one reference at the same time are all made, and recorded with what was there before', async () => {
  const companies: string[] = []
  for (const name of ['Engines', 'Looms', 'Mills']) companies.push((await create('/v5/companies', { name })).id)
  const [first = ''] = companies
  const { id } = await create('/v5/contacts', { name: 'Ada', companyId: first })
  const path = `/v5/contacts/${id}`
  const changes = Array.from({ length: 16 }, (_, index) =>
    call('PATCH', path, { body: { companyId: companies[index % 3] } }),
  )
  const answers = (await Promise.all(changes)).map(({ status, body }, index) => [
    status,
    body.companyId === companies[index % 3],
  ])
  expect(answers).toEqual(answers.map(() => [200, true]))
  const { companyId } = (await call('GET', path)).body
  const entries = (await call('GET', `${path}/timeline?kind=change&limit=100`)).body
  const steps = entries.flatMap(({ change }: Json) =>
    change.changes
      .filter(({ field }: Json) => field === 'companyId')
      .map(({ before, after }: Json) => [before, after] as const),
  )
  expect(endsOf(steps)).toEqual(chain(first, companyId))
})
