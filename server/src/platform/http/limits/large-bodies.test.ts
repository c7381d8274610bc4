import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRaw, type RawResponse, requestText } from '../../../../test/raw-http.ts'
import { expectRefusal } from '../../../../test/refusals.ts'
import { type Json, startTestService, type TestOrganization, type TestService } from '../../../../test/service.ts'

let service: TestService
let organization: TestOrganization

beforeAll(async () => {
  service = await startTestService()
  organization = await service.newOrganization()
})
afterAll(() => service.close())

const parseBody = (answer: RawResponse): Json => JSON.parse(answer.body)

const keyHeaders = () => ({
  authorization: `Bearer ${organization.apiKey}`,
  'service-organization-id': organization.organizationId,
  'content-type': 'application/json',
})
const mebibyte = 1024 * 1024

test('a body of 1 MiB is accepted and a larger one gets 413, with Content-Length and chunked', async () => {
  const body = (length: number) => `{"bio":"${'x'.repeat(length - 10)}"}`
  expectRefusal(await organization.call('POST', '/v5/contacts', { body: body(mebibyte) }), 422)
  const large = await organization.call('POST', '/v5/contacts', { body: body(mebibyte + 1) })
  expectRefusal(large, 413, 'payload_too_large')
  const chunked = await fetch(`${service.url}/v5/contacts`, {
    method: 'POST',
    headers: keyHeaders(),
    body: new Blob([body(mebibyte + 1)]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect([chunked.status, ((await chunked.json()) as Json).code]).toEqual([413, 'payload_too_large'])
})

test('a client that sends far too much gets 413 while it is sending, and the connection stays usable', async () => {
  const connection = await openRaw(service.url)
  const chunk = Buffer.from(`10000\r\n${'x'.repeat(0x10000)}\r\n`)
  connection.write(
    requestText('POST', '/v5/contacts', { headers: { ...keyHeaders(), 'transfer-encoding': 'chunked' } }),
  )
  for (let count = 0; count < 64; count++) connection.write(chunk)
  const [refusal] = await connection.responses(1)
  expectRefusal(refusal!, 413, 'payload_too_large')
  connection.write(`0\r\n\r\n${requestText('GET', '/v5/me', { headers: keyHeaders() })}`)
  const [next] = await connection.responses(1)
  expect([next!.status, parseBody(next!).id]).toEqual([200, organization.userId])
  connection.socket.destroy()
})

test('a large body without a credential is rejected before it is read', async () => {
  const connection = await openRaw(service.url)
  connection.write(
    requestText('POST', '/v5/contacts', {
      headers: { 'content-type': 'application/json', 'content-length': '1000000' },
    }),
  )
  const [refusal] = await connection.responses(1)
  expectRefusal(refusal!, 401, 'missing_authorization')
  connection.socket.destroy()
})

test('Expect: 100-continue is answered before the body, and an unknown expectation is ignored', async () => {
  const connection = await openRaw(service.url)
  const body = '{"email":"expected@example.com"}'
  const headers = { ...keyHeaders(), 'content-length': String(body.length), expect: '100-continue' }
  connection.write(requestText('POST', '/v5/contacts', { headers }))
  await expect.poll(() => connection.bytes().toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
  connection.write(body)
  const [created] = await connection.responses(1)
  expect(created!.status).toBe(201)
  connection.write(requestText('GET', '/v5/me', { headers: { ...keyHeaders(), expect: 'miracles' } }))
  const [me] = await connection.responses(1)
  expect(me!.status).toBe(200)
  connection.socket.destroy()
})
