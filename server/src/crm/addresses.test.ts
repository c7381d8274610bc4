import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Call, type Json, startTestService, type TestService } from '../../test/service.ts'

let service: TestService
let call: Call
beforeAll(async () => {
  service = await startTestService()
  call = (await service.newOrganization()).call
})
afterAll(() => service.close())

const address = {
  street: 'Hauptstr. 5\nHinterhaus',
  postalCode: '10115',
  city: 'Berlin',
  state: null,
  countryCode: 'DE',
}
const line = 'Hauptstr. 5, Hinterhaus, 10115 Berlin, Germany'

test.each(['contacts', 'companies'])('%s have an address, whose line follows each change', async (name) => {
  const path = `/v5/${name}`
  const { body: created, status } = await call('POST', path, { body: { name: 'Ada', ...address } })
  expect([status, created]).toMatchObject([201, { ...address, formattedAddress: line }])
  const one = `${path}/${created.id}`
  const changed = await call('PATCH', one, { body: { street: null, countryCode: 'fr' } })
  expect(changed.body).toMatchObject({ street: null, countryCode: 'FR', formattedAddress: '10115 Berlin, France' })
  expect((await call('GET', one)).body).toEqual(changed.body)
  const empty = Object.fromEntries(Object.keys(address).map((part) => [part, null]))
  expect((await call('PATCH', one, { body: empty })).body).toMatchObject({ ...empty, formattedAddress: null })
  const refused = await call('PATCH', one, { body: { formattedAddress: line } })
  expect(refused).toMatchObject({ status: 422, body: { details: [{ field: 'formattedAddress' }] } })
  for (const body of [{ countryCode: 'Germany' }, { countryCode: 'XX' }, { postalCode: '1\n2' }, { street: ' \n ' }])
    expect((await call('PATCH', one, { body })).status).toBe(422)
})

test.each(['contacts', 'companies'])('%s are found and sorted by their address', async (name) => {
  const cities = { Ada: 'Zürich', Bob: 'Ankara', Cyd: null }
  for (const [one, city] of Object.entries(cities))
    await call('POST', `/v5/${name}`, {
      body: { name: `${one} ${name}`, city, countryCode: city && 'CH', tags: ['sorted'] },
    })
  const list = async (query: string) =>
    (await call('GET', `/v5/${name}?tags=sorted&${query}`)).body.map((row: Json) => row.name.slice(0, 3))
  expect(await list('orderBy=formattedAddress&sort=asc')).toEqual(['Bob', 'Ada', 'Cyd'])
  expect(await list('filter.formattedAddress.contains=zurich')).toEqual(['Ada'])
  expect(await list('filter.formattedAddress.equals=null')).toEqual(['Cyd'])
  expect(await list('filter.postalCode.equals=null&filter.city.startsWith=ank')).toEqual(['Bob'])
  const { body } = await call('GET', `/v5/${name}?tags=sorted&filter.city.equals=Ankara&select[]=formattedAddress`)
  expect(body).toEqual([{ formattedAddress: 'Ankara, Switzerland' }])
})

test('a change of an address is part of the history, and its line is not', async () => {
  const { body: contact } = await call('POST', '/v5/contacts', { body: { name: 'Eve' } })
  const { body: before } = await call('GET', '/v5/events/position')
  await call('PATCH', `/v5/contacts/${contact.id}`, { body: { street: 'Main St 1', countryCode: 'US' } })
  const { events } = (await call('GET', `/v5/events?after=${before.position}`)).body
  expect(events[0].changes.map(({ field }: Json) => field)).toEqual(['street', 'countryCode'])
  expect(events[0].values).not.toHaveProperty('formattedAddress')
})
