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

/** A new deal with these contacts, none of them primary: the path of its contacts, and the path of each. */
async function dealWith(...names: string[]): Promise<{ collectionPath: string; paths: string[] }> {
  const { id } = await createRecord('/v5/deals', { name: 'Engine' })
  const collectionPath = `/v5/deals/${id}/contacts`
  const paths: string[] = []
  for (const name of names) {
    const contact = await createRecord('/v5/contacts', { name })
    paths.push(`${collectionPath}/${(await createRecord(collectionPath, { contactId: contact.id })).id}`)
  }
  return { collectionPath, paths }
}

const isPrimary = async (path: string): Promise<boolean> => (await call('GET', path)).body.isPrimary

const makePrimary = (path: string) => call('PATCH', path, { body: { isPrimary: true } })

test('a deal has at most one primary contact: the latest, even if a deleted one returns', async () => {
  const { collectionPath, paths } = await dealWith('Ada')
  const [ada = ''] = paths
  expect((await makePrimary(ada)).body).toMatchObject({ isPrimary: true, contact: { name: 'Ada' } })
  const { body: before } = await call('GET', ada)
  const grace = await createRecord('/v5/contacts', { name: 'Grace' })
  const second = await createRecord(collectionPath, { contactId: grace.id, isPrimary: true })
  const { body: after } = await call('GET', ada)
  expect(after).toMatchObject({ isPrimary: false })
  expect(after.updatedAt > before.updatedAt).toBe(true)
  await makePrimary(ada)
  const secondPath = `${collectionPath}/${second.id}`
  expect([await isPrimary(ada), await isPrimary(secondPath)]).toEqual([true, false])
  await call('DELETE', ada)
  expect((await makePrimary(secondPath)).status).toBe(200)
  expect((await call('POST', `${ada}/restore`)).body.isPrimary).toBe(false)
  expect(await isPrimary(secondPath)).toBe(true)
  const other = await dealWith('Bob')
  await makePrimary(other.paths[0] ?? '')
  expect(await isPrimary(secondPath)).toBe(true)
})

test('of contacts that become primary at the same time, one is', async () => {
  const { collectionPath, paths } = await dealWith('Ada', 'Grace', 'Bob', 'Eve')
  const answers = await Promise.all([...paths, ...paths].map(makePrimary))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const { body } = await call('GET', collectionPath)
  expect(body.filter((link: Json) => link.isPrimary)).toHaveLength(1)
})
