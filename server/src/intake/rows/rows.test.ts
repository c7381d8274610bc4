import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { addImport, addRows, hasEnded, queueStateOf } from '../../../test/import-rows.ts'
import {
  type Call,
  type Json,
  startTestService,
  type TestOrganization,
  type TestService,
} from '../../../test/service.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { finding } from '../imports/resource.ts'
import { rowStatuses } from '../imports/resource.ts'

let service: TestService
let organization: TestOrganization
let call: Call
let importId: string
let path: string
beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
  call = organization.call
})
beforeEach(async () => {
  importId = await addImport(service, organization)
  path = `/v5/imports/${importId}/rows`
})
afterAll(() => service.close())

const warning = finding('unknown_member', 'contact.shoeSize', 'is unknown')
const error = finding('company_without_name', 'company', 'has neither a name nor a domain')
const contactId = encodeId('con', newId())
const change = { object: 'contact', id: contactId, action: 'updated', before: { city: null }, after: { city: 'Bath' } }
const rowFields = {
  payload: { contact: { email: 'ada@example.com', shoeSize: 38 } },
  warnings: [warning],
  errors: [error],
  changes: [change],
  warningCodes: ['unknown_member'],
  errorCodes: ['company_without_name'],
  contactId,
}

test('a list of rows shows results, and a single row shows everything', async () => {
  const [id = ''] = await addRows(service, importId, [{ status: 'PARTIAL', ...rowFields }])
  const { body: listed } = await call('GET', path)
  expect(listed).toEqual([
    {
      id,
      object: 'row',
      status: 'PARTIAL',
      email: null,
      importId,
      contactId,
      companyId: null,
      warningCodes: ['unknown_member'],
      errorCodes: ['company_without_name'],
      attempts: 0,
      runAt: null,
      finishedAt: expect.stringMatching(/Z$/),
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    },
  ])
  const one = await call('GET', `${path}/${id}`)
  const { payload, warnings, errors, changes } = rowFields
  expect(one.body).toEqual({ ...listed[0], payload, parameters: {}, warnings, errors, changes })
  const known = { headers: { 'if-none-match': one.headers.get('etag') ?? '' } }
  expect((await call('GET', `${path}/${id}`, known)).status).toBe(304)
  const part = await call('GET', `${path}/${id}?select[]=errors&select[]=status`)
  expect(part.body).toEqual({ status: 'PARTIAL', errors })
})

test('rows can be filtered, ordered and paged by the fields of the list', async () => {
  const ids = await addRows(service, importId, [
    { status: 'PROCESSED', contactId, createdAt: '2026-01-01T00:00:00.000Z' },
    { status: 'DEAD', errorCodes: ['worker_lost'], createdAt: '2026-01-02T00:00:00.000Z' },
    { status: 'DEAD', errorCodes: ['processing_failed'], createdAt: '2026-01-03T00:00:00.000Z' },
    { status: 'PENDING', createdAt: '2026-01-04T00:00:00.000Z' },
  ])
  const numbersOf = async (query: string) =>
    (await call('GET', `${path}?sort=asc&${query}`)).body.map((row: Json) => ids.indexOf(row.id))
  expect(await numbersOf('filter.status.equals=DEAD')).toEqual([1, 2])
  expect(await numbersOf('filter.status.in=PROCESSED,PENDING')).toEqual([0, 3])
  expect(await numbersOf('filter.status.not=DEAD')).toEqual([0, 3])
  expect(await numbersOf('filter.errorCodes.has=worker_lost')).toEqual([1])
  expect(await numbersOf('errorCodes=processing_failed&filter.status.equals=DEAD')).toEqual([2])
  expect(await numbersOf('filter.errorCodes.isEmpty=false')).toEqual([1, 2])
  expect(await numbersOf('filter.errorCodes.hasSome=worker_lost,processing_failed')).toEqual([1, 2])
  expect(await numbersOf(`filter.contactId.equals=${contactId}`)).toEqual([0])
  expect(await numbersOf('filter.createdAt.gte=2026-01-02&filter.createdAt.lt=2026-01-04')).toEqual([1, 2])
  expect(await numbersOf(`startingAfter=${ids[0]}&limit=2`)).toEqual([1, 2])
  expect(await numbersOf(`filter.status.equals=DEAD&startingAfter=${ids[1]}`)).toEqual([2])
  expect(await numbersOf(`filter.status.equals=DEAD&endingBefore=${ids[3]}&limit=1`)).toEqual([2])
  expect((await call('GET', `${path}/count?filter.status.equals=DEAD`)).body).toEqual({ count: 2 })
  expect((await call('GET', `${path}/count`)).body).toEqual({ count: 4 })
  for (const query of ['filter.payload.equals=x', 'select[]=payload', 'orderBy=payload']) {
    expect([query, (await call('GET', `${path}?${query}`)).status]).toEqual([query, 400])
  }
})

test.each(
  rowStatuses.filter((status) => ['PARTIAL', 'INVALID', 'CONFLICT', 'DEAD', 'CANCELLED', 'RETRYING'].includes(status)),
)('a %s row can be retried: it is queued like a new one and keeps its changes', async (status) => {
  const [id = ''] = await addRows(service, importId, [{ status, ...rowFields }])
  const { body: before, headers } = await call('GET', `${path}/${id}`)
  const retried = await call('POST', `${path}/${id}/retry`)
  expect(retried.status).toBe(200)
  expect(retried.body).toEqual({
    ...before,
    status: 'PENDING',
    attempts: 0,
    warningCodes: [],
    errorCodes: [],
    warnings: [],
    errors: [],
    runAt: expect.stringMatching(/Z$/),
    finishedAt: null,
    updatedAt: expect.stringMatching(/Z$/),
  })
  expect(retried.body.updatedAt > before.updatedAt).toBe(true)
  expect(await queueStateOf(service, id)).toEqual({ losses: 0, lease: null, due: true })
  const read = await call('GET', `${path}/${id}`)
  expect([read.body, read.headers.get('etag')]).toEqual([retried.body, retried.headers.get('etag')])
  expect(read.headers.get('etag')).not.toBe(headers.get('etag'))
})

test.each(rowStatuses.filter((status) => ['PENDING', 'PROCESSING', 'PROCESSED', 'DUPLICATE'].includes(status)))(
  'a %s row cannot be retried and stays unchanged',
  async (status) => {
    const [id = ''] = await addRows(service, importId, [{ status, ...rowFields }])
    const before = await call('GET', `${path}/${id}`)
    const refused = await call('POST', `${path}/${id}/retry`)
    expect(refused).toMatchObject({ status: 423, body: { code: 'resource_locked', status: 423 } })
    expect(refused.body.description).toMatch(hasEnded(status) ? /Push its payload again/ : /waiting|being processed/)
    expect((await call('GET', `${path}/${id}`)).text).toBe(before.text)
  },
)

test('If-Match is checked before a retry and before the state of the row', async () => {
  const [id = '', done = ''] = await addRows(service, importId, [{ status: 'DEAD' }, { status: 'PROCESSED' }])
  const retry = (row: string, tag: string) => call('POST', `${path}/${row}/retry`, { headers: { 'if-match': tag } })
  const tag = (await call('GET', `${path}/${id}`)).headers.get('etag') ?? ''
  expect((await retry(id, '"7-AAAAAAAAAAAAAAAA"')).body.code).toBe('precondition_failed')
  expect((await retry(done, '"7-AAAAAAAAAAAAAAAA"')).status).toBe(412)
  expect((await retry(id, tag)).status).toBe(200)
  expect((await retry(id, tag)).status).toBe(412)
})

test('a retry with an Idempotency-Key happens once and is replayed', async () => {
  const [id = ''] = await addRows(service, importId, [{ status: 'DEAD' }])
  const once = { headers: { 'idempotency-key': 'again' } }
  const [first, second] = [
    await call('POST', `${path}/${id}/retry`, once),
    await call('POST', `${path}/${id}/retry`, once),
  ]
  expect([first.status, second.status, second.text]).toEqual([200, 200, first.text])
  expect(second.headers.get('idempotent-replayed')).toBe('true')
  expect((await call('POST', `${path}/${id}/retry`)).status).toBe(423)
})

test('a retry accepts neither a body nor parameters', async () => {
  const [id = ''] = await addRows(service, importId, [{ status: 'DEAD' }])
  expect((await call('POST', `${path}/${id}/retry`, { body: { force: true } })).status).toBe(422)
  expect((await call('POST', `${path}/${id}/retry?dryRun=true`)).status).toBe(400)
  expect((await call('GET', `${path}/${id}`)).body.status).toBe('DEAD')
})

test('rows of another import, a deleted import or another organization are not found', async () => {
  const [id = ''] = await addRows(service, importId, [{ status: 'DEAD' }])
  const otherImport = await addImport(service, organization)
  const deleted = await addImport(service, organization)
  const [lost = ''] = await addRows(service, deleted, [{ status: 'DEAD' }])
  const theirs = await service.newOrganization()
  const request = async (caller: Call, at: string, row: string) => [
    await caller('GET', at),
    await caller('GET', `${at}/count`),
    await caller('GET', `${at}/${row}`),
    await caller('POST', `${at}/${row}/retry`),
    await caller('POST', `${at}/retry`),
    await caller('POST', `${at}/cancel?dryRun=true`),
  ]
  expect((await call('GET', `/v5/imports/${otherImport}/rows`)).body).toEqual([])
  for (const method of ['GET', 'POST']) {
    const suffix = method === 'POST' ? '/retry' : ''
    expect((await call(method, `/v5/imports/${otherImport}/rows/${id}${suffix}`)).status).toBe(404)
  }
  expect((await call('DELETE', `/v5/imports/${deleted}`)).status).toBe(204)
  const responses = [
    ...(await request(call, `/v5/imports/${deleted}/rows`, lost)),
    ...(await request(call, `/v5/imports/${encodeId('imp', newId())}/rows`, id)),
    ...(await request(theirs.call, path, id)),
  ]
  expect(responses.map(({ status, body }) => [status, body.code])).toEqual(responses.map(() => [404, 'not_found']))
  expect((await call('GET', `${path}/${id}`)).body.status).toBe('DEAD')
})

test('the scope to read rows does not allow retrying or cancelling them', async () => {
  const [id = ''] = await addRows(service, importId, [{ status: 'DEAD' }])
  const reader = await organization.withScopes(['row:*:read'])
  expect((await reader('GET', `${path}/${id}`)).status).toBe(200)
  for (const [place, action] of [
    [`${path}/${id}/retry`, 'retry'],
    [`${path}/retry`, 'retry'],
    [`${path}/cancel`, 'cancel'],
  ]) {
    const refused = await reader('POST', String(place))
    expect(refused.body).toMatchObject({
      code: 'missing_scopes',
      details: [{ message: `urn:service:row:${action}:write` }],
    })
    const allowed = await organization.withScopes([`row:${action}:write`])
    expect((await allowed('POST', `${place}?dryRun=maybe`)).status).toBe(400)
  }
})

describe('rows by address', () => {
  const push = async (...payloads: object[]): Promise<string[]> => {
    const created = await call('POST', '/v5/imports', { body: { name: 'Addresses' } })
    path = `/v5/imports/${created.body.id}/rows`
    const ids: string[] = []
    for (const body of payloads) {
      const pushed = await service.anonymous('POST', new URL(created.body.triggerUrl).pathname, { body })
      ids.push(pushed.body.id)
    }
    return ids
  }
  const found = async (query: string): Promise<string[]> => {
    const [list, count, search] = await Promise.all([
      call('GET', `${path}?sort=asc&query=${encodeURIComponent(query)}`),
      call('GET', `${path}/count?query=${encodeURIComponent(query)}`),
      call('POST', `${path}/search`, { body: { query, sort: 'asc' } }),
    ])
    const ids = (body: Json) => body.map(({ id }: Json) => id)
    expect([query, count.body, ids(search.body)]).toEqual([query, { count: list.body.length }, ids(list.body)])
    return ids(list.body)
  }

  test('`query` finds them by the whole address or its beginning, in any spelling of it', async () => {
    const [ada, other, idn, none] = await push(
      { contact: { email: 'Ada.Lovelace@Example.com' } },
      { contact: { email: 'ada.byron@example.com' } },
      { contact: { email: 'jörg@münchen.example' } },
      { contact: { email: null, githubHandle: 'ada' } },
    )
    expect(await found('ada.lovelace@example.com')).toEqual([ada])
    expect(await found(' ADA.LOVELACE@EXAMPLE.COM ')).toEqual([ada])
    expect(await found('ada')).toEqual([ada, other])
    expect(await found('ada.b ada')).toEqual([other])
    expect(await found('ada.b lovelace')).toEqual([])
    expect(await found('jörg@xn--mnchen-3ya.example')).toEqual([idn])
    expect(await found('JÖRG')).toEqual([idn])
    expect(await found('lovelace@example.com')).toEqual([])
    expect(await found('ada%')).toEqual([])
    const { body: shown } = await call('GET', `${path}?sort=asc&select[]=email`)
    expect(shown.map(({ email }: Json) => email)).toEqual([
      'Ada.Lovelace@Example.com',
      'ada.byron@example.com',
      'jörg@münchen.example',
      null,
    ])
    expect((await call('GET', `${path}?filter.email.equalsIgnoreCase=ada.lovelace@example.com`)).body).toHaveLength(1)
    expect((await call('GET', `${path}?filter.email.equals=null`)).body).toMatchObject([{ id: none }])
  })

  test('a corrected row is found by its new address only, and an action on rows takes the same search', async () => {
    const [id] = await push({ contact: { email: 'wrong@example.com' } }, { contact: { email: 'other@example.com' } })
    const dryRun = (query: string) => call('POST', `${path}/cancel?dryRun=true&query=${query}`)
    expect((await dryRun('wrong@')).body).toMatchObject({ count: 1 })
    expect((await call('POST', `${path}/cancel?query=wrong@example.com`)).body).toMatchObject({ count: 1 })
    const body = { payload: { contact: { email: 'Right@example.com' } } }
    expect((await call('PATCH', `${path}/${id}`, { body })).body).toMatchObject({ email: 'Right@example.com' })
    expect(await found('wrong@example.com')).toEqual([])
    expect(await found('right@example.com')).toEqual([id])
  })
})
