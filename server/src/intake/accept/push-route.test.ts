import { gzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../test/postgres.ts'
import { newImport, newLead, rowsOf, type TestImport } from '../../../test/pushes.ts'
import { requestText, sendRaw } from '../../../test/raw-http.ts'
import { expectRefusal } from '../../../test/refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../test/service.ts'
import { headings, routes } from '../../app.ts'
import { openapi } from '../../platform/openapi/openapi.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { processNextBatch } from '../work/batch.ts'
import { pushRoute } from './push-route.ts'

let testDatabase: TestDatabase
let service: TestService
let organization: TestOrganization
let target: TestImport

beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  organization = await service.newOrganization()
  target = await newImport(service, organization)
})
afterAll(async () => {
  await service.close()
  await testDatabase.drop()
})

/** The row after it was processed. */
async function rowOnceDone(rowId: string): Promise<Json> {
  const batch = { maxRows: 200, leaseSeconds: 60, onClaimed: () => undefined }
  const id = decodeId('org', organization.organizationId) ?? ''
  for (let isMore = true; isMore;) isMore = await processNextBatch(service.database, id, batch)
  return (await organization.call('GET', `/v5/imports/${target.importId}/rows/${rowId}`)).body
}

test('the OpenAPI document describes request, responses and missing credential of the trigger', async () => {
  const document = openapi(routes, headings)
  const operation = document.paths[pushRoute.path]?.post
  expect(operation?.security).toEqual([])
  expect(operation?.parameters).toEqual(
    ['importId', 'hash', 'Idempotency-Key'].map((name) => ({ $ref: `#/components/parameters/${name}` })),
  )
  expect(Object.keys(operation?.responses ?? {})).toEqual([
    '200',
    '400',
    '404',
    '413',
    '414',
    '429',
    '431',
    '500',
    '503',
  ])
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'https://example.com/openapi', components: document.components })
  const component = (name: string) => ajv.getSchema(`https://example.com/openapi#/components/schemas/${name}`)
  const { component: pushed, example } = pushRoute.payload
  expect(component(pushed)?.(example), JSON.stringify(component(pushed)?.errors)).toBe(true)
  const { status, body } = await target.push(example)
  expect(status).toBe(200)
  expect(component('AcceptedRow')?.(body), JSON.stringify(component('AcceptedRow')?.errors)).toBe(true)
})

test.each([
  'application/json; charset=UTF-8',
  'application/json;charset=utf8',
  'application/json; charset="us-ascii"',
  'application/json; charset=ISO-8859-1',
  'Application/Problem+JSON',
  'application/vnd.crm.lead+json; charset=utf-8; v=1',
  'application/vnd.api+json',
  'application/x-www-form-urlencoded',
  'application/x-www-form-urlencoded; charset=UTF-8',
  'text/plain;charset=UTF-8',
  'application/octet-stream',
  'text/html',
  'json',
  '',
])('a JSON body with Content-Type %j is accepted, whatever Accept says', async (type) => {
  const { status, headers } = await target.push(newLead(), { headers: { 'content-type': type, accept: 'text/html' } })
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
})

test('a JSON body without Content-Type, with a repeated one, or with a wrong Content-Encoding is accepted', async () => {
  const body = JSON.stringify(newLead())
  const twice = 'Content-Type: application/json\r\nContent-Type: application/json\r\n'
  for (const header of ['', twice, 'Content-Encoding: utf-8\r\n', 'Content-Encoding: gzip\r\n']) {
    const text = requestText('POST', target.path, { body }).replace('\r\n', `\r\n${header}`)
    expect([header, (await sendRaw(service.url, text)).status]).toEqual([header, 200])
  }
})

test('a byte order mark, a list around one lead and a long number are stored as plain JSON', async () => {
  const { contact } = newLead()
  const before = await rowsOf(service.database, target)
  const lead = JSON.stringify({ contact })
  const bodies = [`\ufeff${lead}`, `[${lead}]`, `\ufeff \n[${lead}]`, `{"contact":{"externalIdX":17841405822304915}}`]
  for (const body of bodies) expect((await target.push(body)).status).toBe(200)
  const rows = await rowsOf(service.database, target)
  expect(rows.slice(before.length).map(({ payload }) => payload)).toEqual([
    { contact },
    { contact },
    { contact },
    { contact: { externalIdX: '17841405822304915' } },
  ])
})

test.each([
  ['a form', 'contact%5Bemail%5D=ada%40example.com&name=Ada', 'application/x-www-form-urlencoded'],
  [
    'a form with files',
    '--x\r\ncontent-disposition: form-data; name="email"\r\n\r\na@b.example\r\n--x--',
    'multipart/form-data; boundary=x',
  ],
  ['XML', '<lead><email>ada@example.com</email></lead>', 'application/xml'],
  ['plain text', 'ada@example.com', 'text/plain'],
])('%s gets 400, which says in one sentence what to do', async (_, body, type) => {
  const { details } = expectRefusal(
    await target.push(body, { headers: { 'content-type': type } }),
    400,
    'invalid_parameters',
  )
  expect(details).toEqual([
    { field: 'Content-Type', message: expect.stringMatching(/^the body is not JSON; send .*"email"/) },
  ])
})

test('the reason for 400 is the body if it looks like JSON, its encoding if that is not UTF-8', async () => {
  const push = (body: Buffer | string, headers: Record<string, string>) => target.push(body, { headers })
  const broken = expectRefusal(await push('{"contact":', { 'content-type': 'text/plain' }), 400, 'malformed_request')
  expect(broken.description).toContain('incomplete')
  const latin = await push('{"contact":{"email":"a@example.com","name":"Zoë"}}', {
    'content-type': 'text/plain; charset=latin1',
  })
  expect(expectRefusal(latin, 400).details).toEqual([
    { field: 'Content-Type', message: expect.stringContaining('UTF-8') },
  ])
  const zipped = await push(gzipSync(JSON.stringify(newLead())), { 'content-encoding': 'gzip' })
  expect(expectRefusal(zipped, 400).details).toEqual([
    { field: 'Content-Encoding', message: expect.stringContaining('uncompressed') },
  ])
})

test.each(['?x=%ff', '?%ff=1', '?x=%', '?x=%00', '?a=%zz&a=1', '?=&&=', `?${'x'.repeat(4000)}`, '?__proto__=%c3%28'])(
  'a push with the query %j is accepted, with a warning for each parameter',
  async (query) => {
    const { status, body } = await target.push(newLead(), { query })
    expect(status).toBe(200)
    const row = await rowOnceDone(body.id)
    expect(row.status).toBe('PROCESSED')
    expect(row.warnings.every(({ code }: Json) => code === 'unknown_parameter')).toBe(true)
    expect(row.warnings).toHaveLength(Object.keys(row.parameters).length)
    if (query === '?x=%ff') expect(row.parameters).toEqual({ x: '%ff' })
  },
)

test.each(['x'.repeat(256), 'two words', 'ключ', '', 'undefined', '{{request.id}}'])(
  'the unusable Idempotency-Key %j is ignored with a warning',
  async (key) => {
    const lead = newLead()
    const text = requestText('POST', target.path, { body: JSON.stringify(lead), headers: { 'idempotency-key': key } })
    const statuses = [(await sendRaw(service.url, text)).status, (await sendRaw(service.url, text)).status]
    expect(statuses).toEqual([200, 200])
    const [first, second] = (await rowsOf(service.database, target)).slice(-2)
    for (const stored of [first, second])
      expect((await rowOnceDone(stored?.shown)).warnings).toMatchObject([
        { code: 'ignored_key', path: 'Idempotency-Key' },
      ])
    expect((await rowOnceDone(second?.shown)).status).toBe('DUPLICATE')
  },
)

test('two Idempotency-Keys are ignored, too', async () => {
  const text = requestText('POST', target.path, {
    body: JSON.stringify(newLead()),
    headers: { 'idempotency-key': 'a' },
  })
  expect((await sendRaw(service.url, text.replace('\r\n', '\r\nIdempotency-Key: b\r\n'))).status).toBe(200)
  const [row] = (await rowsOf(service.database, target)).slice(-1)
  expect(row?.parameters).toEqual({ 'Idempotency-Key': null })
})

test('the path allows only POST, and says what to send', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH']) {
    const response = await service.anonymous(method, target.path)
    if (method !== 'HEAD') {
      const { description } = expectRefusal(response, 405, 'method_not_allowed')
      expect(description).toBe(
        'Send the lead to this URL with POST and a JSON body, such as {"contact":{"email":"ada@example.com"}}.',
      )
    }
    expect([response.status, response.headers.get('allow'), response.text.includes(target.hash)]).toEqual([
      405,
      'OPTIONS, POST',
      false,
    ])
  }
  const options = await service.anonymous('OPTIONS', target.path)
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'OPTIONS, POST'])
  const page = await service.anonymous('GET', target.path, { headers: { accept: 'text/html' } })
  expect([page.status, page.text]).toEqual([405, expect.stringContaining('with POST and a JSON body')])
})

test('a page of any origin can push and read the response', async () => {
  const origin = 'https://forms.example.com'
  const preflight = await service.anonymous('OPTIONS', target.path, {
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
  })
  const response = await target.push(newLead(), { headers: { origin } })
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
})
