import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../../test/postgres.ts'
import { newImport, newLead, pusher, type TestImport } from '../../../../test/pushes.ts'
import { requestText, sendRaw } from '../../../../test/raw-http.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'
import { headings, routes } from '../../../app.ts'
import { openapi } from '../../../platform/http/openapi.ts'
import { pushRoute } from './push-route.ts'

let testDatabase: TestDatabase
let service: TestService
let target: TestImport

beforeAll(async () => {
  testDatabase = await createDatabase()
  service = await startTestService({}, { ...testDatabase, drop: async () => undefined })
  target = await newImport(service, await service.newOrganization())
})
afterAll(async () => {
  await service.close()
  await testDatabase.drop()
})

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

test('a push accepts any JSON media type or none, and any Accept header', async () => {
  const body = JSON.stringify(newLead())
  for (const type of [
    'application/json',
    'application/json; charset=UTF-8',
    'Application/Problem+JSON',
    'application/vnd.crm.lead+json; charset=utf-8; v=1',
    '',
  ]) {
    const response = await target.push(body, { headers: { 'content-type': type, accept: 'text/html' } })
    expect([type, response.status, response.headers.get('content-type')]).toEqual([
      type,
      200,
      'application/json; charset=utf-8',
    ])
  }
  const { status } = await sendRaw(service.url, requestText('POST', target.path, { body }))
  expect(status).toBe(200)
})

test.each([
  ['content-type', 'text/plain', 'Content-Type'],
  ['content-type', 'application/x-www-form-urlencoded', 'Content-Type'],
  ['content-type', 'application/json; charset=iso-8859-1', 'Content-Type'],
  ['content-type', 'json', 'Content-Type'],
  ['content-encoding', 'gzip', 'Content-Encoding'],
])('a body with %s: %s gets 400, which names the header', async (name, value, field) => {
  const { details } = expectRefusal(
    await target.push(newLead(), { headers: { [name]: value } }),
    400,
    'invalid_parameters',
  )
  expect(details).toEqual([{ field, message: expect.any(String) }])
})

test('the path allows only POST', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    const response = await service.anonymous(method, target.path)
    expectRefusal(response, 405, 'method_not_allowed')
    expect([response.headers.get('allow'), response.text.includes(target.hash)]).toEqual(['OPTIONS, POST', false])
  }
  const options = await service.anonymous('OPTIONS', target.path)
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'OPTIONS, POST'])
})

test('a page of an allowed origin can push and read the response', async () => {
  const origin = 'https://forms.example.com'
  const open = await startTestService({ CORS_ORIGINS: origin }, { ...testDatabase, drop: async () => undefined })
  const preflight = await open.anonymous('OPTIONS', target.path, {
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
  })
  const response = await pusher(open, target.path)(newLead(), { headers: { origin } })
  await open.close()
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, origin])
  expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, origin])
})
