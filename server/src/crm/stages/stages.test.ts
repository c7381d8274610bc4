import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Call, type Json, startTestService, type TestService } from '../../../test/service.ts'

let service: TestService
let call: Call
beforeAll(async () => {
  service = await startTestService()
  call = (await service.newOrganization()).call
})
afterAll(() => service.close())

async function createRecord(path: string, body: object): Promise<Json> {
  const answer = await call('POST', path, { body })
  expect([path, answer.text, answer.status]).toEqual([path, answer.text, 201])
  return answer.body
}

const namesIn = async (path: string): Promise<string[]> => (await call('GET', path)).body.map(({ name }: Json) => name)

test('positions of a pipeline’s stages have no gaps: a new stage is last, and a move keeps the order of the others', async () => {
  const { id } = await createRecord('/v5/pipelines', { name: 'Partners' })
  const collectionPath = `/v5/pipelines/${id}/stages`
  const namesInOrder = () => namesIn(`${collectionPath}?orderBy=position&sort=asc`)
  const positions = async () =>
    (await call('GET', `${collectionPath}?orderBy=position&sort=asc`)).body.map(({ position }: Json) => position)
  const created: Record<string, string> = {}
  for (const name of ['a', 'b', 'c']) created[name] = (await createRecord(collectionPath, { name })).id
  created.first = (await createRecord(collectionPath, { name: 'first', position: 0 })).id
  expect(await namesInOrder()).toEqual(['first', 'a', 'b', 'c'])
  const moved = await call('PATCH', `${collectionPath}/${created.c}`, { body: { position: 1 } })
  expect(moved.body).toMatchObject({ name: 'c', position: 1 })
  expect(await namesInOrder()).toEqual(['first', 'c', 'a', 'b'])
  expect((await call('PATCH', `${collectionPath}/${created.first}`, { body: { position: 999 } })).body.position).toBe(3)
  expect(await namesInOrder()).toEqual(['c', 'a', 'b', 'first'])
  await call('DELETE', `${collectionPath}/${created.a}`)
  expect([await namesInOrder(), await positions()]).toEqual([
    ['c', 'b', 'first'],
    [0, 1, 2],
  ])
  const restored = await call('POST', `${collectionPath}/${created.a}/restore`)
  expect(restored.body.position).toBe(1)
  expect([await namesInOrder(), await positions()]).toEqual([
    ['c', 'a', 'b', 'first'],
    [0, 1, 2, 3],
  ])
  expect(await call('PATCH', `${collectionPath}/${created.a}`, { body: { position: -1 } })).toMatchObject({
    status: 422,
  })
  expect((await call('GET', `${collectionPath}?filter.position.gte=2`)).body).toHaveLength(2)
})

test('concurrent moves in one pipeline leave each stage with a unique position', async () => {
  const { id } = await createRecord('/v5/pipelines', { name: 'Busy' })
  const collectionPath = `/v5/pipelines/${id}/stages`
  const created = await Promise.all(
    Array.from({ length: 6 }, (_, index) => createRecord(collectionPath, { name: `stage ${index}` })),
  )
  await Promise.all(
    created.flatMap(({ id: stage }, index) =>
      [0, 5, 2].map((position) =>
        call('PATCH', `${collectionPath}/${stage}`, { body: { position: (position + index) % 6 } }),
      ),
    ),
  )
  const { body } = await call('GET', `${collectionPath}?orderBy=position&sort=asc`)
  expect(body.map(({ position }: Json) => position)).toEqual([0, 1, 2, 3, 4, 5])
})
