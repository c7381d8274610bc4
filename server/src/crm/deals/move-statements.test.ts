import { expect, test } from 'vitest'
import { watchStatements } from '../../../test/planted-faults.ts'
import { startTestService, withoutBackground } from '../../../test/service.ts'

test('a move looks its stage up once, and locks neither definitions nor a company that the deal does not have', async () => {
  const service = await startTestService(withoutBackground)
  const { call } = await service.newOrganization()
  const [pipeline] = (await call('GET', '/v5/pipelines')).body
  const { body: stages } = await call('GET', `/v5/pipelines/${pipeline.id}/stages?orderBy=position&sort=asc`)
  const { body: company } = await call('POST', '/v5/companies', { body: { name: 'Engines' } })
  const deal = async (values: object) =>
    (await call('POST', '/v5/deals', { body: { name: 'Engine', stageId: stages[0].id, ...values } })).body.id
  const [alone, ofCompany] = [await deal({}), await deal({ companyId: company.id })]
  const statements = watchStatements()
  const move = async (id: string, to: number): Promise<string[]> => {
    statements.sent()
    expect((await call('POST', `/v5/deals/${id}/move`, { body: { stageId: stages[to].id } })).status).toBe(200)
    // The service also counts requests and notes when a key was used.
    return statements.sent().filter((text) => !/\brate_limits\b|^\s*update api_keys\b/.test(text))
  }
  // The service remembers what the first one reads.
  await move(alone, 1)
  const sent = await move(alone, 2)
  expect(sent.filter((text) => /\bstages\b/.test(text) && /\bfor (?:key )?share/.test(text))).toHaveLength(1)
  expect(
    sent.filter((text) => /property_sets|update "companies"|update "deals" record set last_activity/.test(text)),
  ).toEqual([])
  // On a machine that pauses, one of them also reads the credential again.
  const fewestOf = async (id: string) => {
    const counts: number[] = []
    for (const to of [1, 2, 0]) counts.push((await move(id, to)).length)
    return Math.min(...counts)
  }
  expect([await fewestOf(alone), await fewestOf(ofCompany)]).toEqual([10, 11])
  statements.restore()
  await service.close()
})
