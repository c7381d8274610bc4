import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'

let service: TestService
let organization: TestOrganization
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

test('the moves of a deal are a chain in the order of their times, also of moves and deleted stages at once', async () => {
  const { call } = organization
  const { body: pipelines } = await call('GET', '/v5/pipelines')
  const stagesPath = `/v5/pipelines/${pipelines[0].id}/stages`
  const { body: stages } = await call('GET', `${stagesPath}?orderBy=position&sort=asc`)
  const open: string[] = stages.filter(({ kind }: Json) => kind === 'open').map(({ id }: Json) => id)
  const { body: deal } = await call('POST', '/v5/deals', { body: { name: 'Engine', stageId: open[0] } })
  for (let round = 0; round < 3; round++) {
    const targets = Array.from({ length: 12 }, (_, index) => open[(index + round) % open.length])
    const moved = await Promise.all(
      targets.map((stageId) => call('POST', `/v5/deals/${deal.id}/move`, { body: { stageId } })),
    )
    for (const { status, text } of moved) expect(status, text).toBe(200)
    const { body: added } = await call('POST', stagesPath, { body: { name: `Added ${round}`, kind: 'open' } })
    await call('POST', `/v5/deals/${deal.id}/move`, { body: { stageId: added.id } })
    const removed = await call('DELETE', `${stagesPath}/${added.id}?moveDealsTo=${open[0]}`)
    expect(removed.status, removed.text).toBe(204)
  }
  const { body: moves } = await call('GET', `/v5/deals/${deal.id}/stage-moves?sort=asc&limit=100`)
  expect(moves.length).toBeGreaterThan(20)
  expect(moves.map(({ fromStageId }: Json) => fromStageId)).toEqual([
    open[0],
    ...moves.slice(0, -1).map(({ toStageId }: Json) => toStageId),
  ])
  expect(moves.at(-1).toStageId).toBe((await call('GET', `/v5/deals/${deal.id}`)).body.stageId)
})
