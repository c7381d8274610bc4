import { afterAll, beforeAll, expect, test } from 'vitest'
import { loggedIn, newOwner, type TestOwner } from '../../../test/people.ts'
import { PushService } from '../../../test/push-receiver.ts'
import { startTestService, type Call, type Json, type TestService } from '../../../test/service.ts'

let pushService: PushService
let service: TestService
beforeAll(async () => {
  pushService = await new PushService().open()
  service = await startTestService({ EGRESS_ALLOW: '127.0.0.1' })
})
afterAll(async () => {
  await service.close()
  await pushService.close()
})

const path = '/v5/inbox/push-subscriptions'
const subscribe = async (call: Call, body: object = pushService.newBrowser().subscription): Promise<Json> => {
  const added = await call('POST', path, { body })
  expect(added.status, added.text).toBe(201)
  return added.body
}
const listed = async (call: Call): Promise<Json[]> => (await call('GET', path)).body
const logInAgain = ({ email, password }: TestOwner) => loggedIn(service, email, password)

test('everybody subscribes to one key, also if several ask for it first', async () => {
  const owners = await Promise.all([1, 2, 3, 4].map(() => newOwner(service)))
  const keys = await Promise.all(owners.map(({ call }) => call('GET', '/v5/inbox/push-key')))
  const [{ publicKey }] = keys.map(({ body }) => body)
  expect(Buffer.from(publicKey, 'base64url').length).toBe(65)
  expect(new Set(keys.map(({ text }) => text)).size).toBe(1)
})

test('a browser belongs to the session that added it, and its person sees and removes it from any session', async () => {
  const owner = await newOwner(service)
  const { subscription } = pushService.newBrowser()
  const added = await subscribe(owner.call, { ...subscription, language: 'de' })
  const host = new URL(pushService.origin).host
  expect(added).toMatchObject({ isCurrent: true, host, language: 'de', lastSuccessAt: null })
  const { call } = await logInAgain(owner)
  expect(await listed(call)).toEqual([{ ...added, isCurrent: false }])
  for (const secret of Object.values(subscription)) expect(JSON.stringify(added)).not.toContain(secret)
  const other = await newOwner(service)
  expect(await listed(other.call)).toEqual([])
  expect((await other.call('DELETE', `${path}/${added.id}`)).status).toBe(404)
  expect((await call('DELETE', `${path}/${added.id}`)).status).toBe(204)
  expect((await call('DELETE', `${path}/${added.id}`)).status).toBe(404)
  expect(await listed(owner.call)).toEqual([])
})

test('a session has one browser, and a browser the person who was the last to switch it on', async () => {
  const [first, second] = [await newOwner(service), await newOwner(service)]
  const { subscription } = pushService.newBrowser()
  const before = await subscribe(first.call)
  const after = await subscribe(first.call, subscription)
  expect(after.id).not.toBe(before.id)
  expect(await listed(first.call)).toEqual([after])
  const taken = await subscribe(second.call, subscription)
  expect([await listed(first.call), await listed(second.call)]).toEqual([[], [taken]])
})

test.each<[string, (owner: TestOwner, call: Call) => Promise<unknown>]>([
  [
    'is ended',
    async ({ call }, own) => call('DELETE', `/v5/me/sessions/${(await current(own)).id}`).catch(() => undefined),
  ],
  ['ends with all others', (_, own) => own('DELETE', '/v5/me/sessions')],
])('a browser is gone when its session %s', async (_, end) => {
  const owner = await newOwner(service)
  const { call } = await logInAgain(owner)
  await subscribe(call)
  expect(await listed(owner.call)).toHaveLength(1)
  await end(owner, call)
  const again = await logInAgain(owner)
  expect(await listed(again.call)).toEqual([])
})

const current = async (call: Call): Promise<Json> =>
  (await call('GET', '/v5/me/sessions')).body.find(({ isCurrent }: Json) => isCurrent)

test('only the person of a session subscribes, to a push service that may be reached', async () => {
  const { call, organization } = await newOwner(service)
  const { subscription } = pushService.newBrowser()
  const key = await organization.call('POST', path, { body: subscription })
  expect(key.status).toBe(403)
  const fieldsOf = async (body: object) => {
    const { status, body: answer } = await call('POST', path, { body: { ...subscription, ...body } })
    return [status, ...(answer.error?.details ?? answer.details ?? []).map(({ field }: Json) => field)]
  }
  for (const endpoint of ['http://push.example/1', 'ftp://push.example', 'x', 'https://a:b@push.example/'])
    expect(await fieldsOf({ endpoint }), endpoint).toEqual([422, 'endpoint'])
  expect(await fieldsOf({ p256dh: subscription.auth, auth: 'x' })).toEqual([422, 'p256dh', 'auth'])
  expect(await fieldsOf({ language: 'xx' })).toEqual([422, 'language'])
})
