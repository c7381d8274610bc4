import { afterAll, beforeAll, expect, test } from 'vitest'
import { completeByTotp, enrolApp, newPerson } from './second-factors.ts'
import { type MailedService, startMailedService } from './mailed-service.ts'
import type { MailReceiver } from './mail-receiver.ts'
import { goodPassword, receiveLinkToken } from './people.ts'
import type { TestService } from './service.ts'

let mailed: MailedService
let receiver: MailReceiver
let service: TestService
beforeAll(async () => {
  mailed = await startMailedService()
  ;({ receiver, service } = mailed)
})
afterAll(() => mailed.close())

const post = (path: string, body: Record<string, unknown>) => service.anonymous('POST', path, { body })

async function resetByMail(email: string): Promise<void> {
  expect((await post('/auth/forgot-password', { email })).status).toBe(202)
  const token = await receiveLinkToken(receiver, email, 'reset-password')
  const response = await post('/auth/reset-password', { token, password: goodPassword })
  expect([response.status, response.text]).toEqual([204, ''])
}

test('access to the mailbox alone allows a new password, but a login still requires the second factor', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  await resetByMail(person.email)
  const login = await post('/auth/login', { email: person.email, password: goodPassword })
  expect([login.status, login.body.status]).toEqual([200, 'second_factor_required'])
  expect(login.text).not.toMatch(/accessToken|refreshToken/)
  const { pendingToken } = login.body
  expect((await completeByTotp(service, pendingToken, app.wrongCode())).status).toBe(401)
  expect((await completeByTotp(service, pendingToken, app.code(1))).status).toBe(200)
})

test('a password reset ends logins that wait for their second factor', async () => {
  const person = await newPerson(service)
  const { app } = await enrolApp(person)
  const pendingToken = await person.beginLogin()
  await resetByMail(person.email)
  expect((await completeByTotp(service, pendingToken, app.code(1))).status).toBe(401)
})

test('a link is valid only for its own purpose', async () => {
  const { email } = await newPerson(service)
  expect((await post('/auth/forgot-password', { email })).status).toBe(202)
  const token = await receiveLinkToken(receiver, email, 'reset-password')
  expect((await post('/auth/verify-address', { token })).status).toBe(422)
  expect((await post('/auth/invitations/preview', { token })).status).toBe(422)
  const person = { name: 'Ada', organization: 'Engines', password: goodPassword }
  expect((await post('/auth/set-up', { token, email, ...person })).status).toBe(422)
  expect((await post('/auth/reset-password', { token, password: goodPassword })).status).toBe(204)
})
