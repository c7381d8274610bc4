import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { enqueue, newPerson } from '../../../test/mail-queue.ts'
import { type MailReceiver, startMailReceiver } from '../../../test/mail-receiver.ts'
import { callAs, goodPassword, receiveLinkToken } from '../../../test/people.ts'
import { startTestService, type TestService } from '../../../test/service.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { type Language, languages } from '../../platform/model/languages.ts'
import { sql } from '../../platform/model/sql.ts'
import { mailKindNames } from './kinds.ts'
import type { AccountChange, NewMail } from './store.ts'
import { fill, texts } from './texts.ts'

let receiver: MailReceiver
let service: TestService
let organization: { id: string; uuid: string; name: string }
beforeAll(async () => {
  receiver = await startMailReceiver()
  service = await startTestService({
    SMTP_URL: receiver.url,
    MAIL_FROM: 'Rapport <crm@example.com>',
    PUBLIC_URL: 'https://crm.example.com',
    SIGN_UP: 'open',
    DEFAULT_LANGUAGE: 'de',
  })
  const { organizationId } = await service.newOrganization()
  const uuid = decodeId('org', organizationId) ?? ''
  const [row] = await service.database.crossTenantQuery<{ name: string }>(
    'check the database',
    sql`update organizations set time_zone = 'Europe/Berlin' where id = ${uuid}::uuid returning name`,
  )
  organization = { id: organizationId, uuid, name: row?.name ?? '' }
})
afterAll(async () => {
  await service.close()
  await receiver.close()
})

const newAddress = () => `${randomUUID()}@example.com`
const nextTo = (address: string) => receiver.next(({ to }) => to.includes(address))

async function personWho(language: Language | null) {
  const person = await newPerson(service, [organization.uuid])
  await service.database.crossTenantQuery(
    'check the database',
    sql`update users set language = ${language} where id = ${person.id}::uuid`,
  )
  return person
}

/** Each text with its path, in the order of the keys. */
const textsIn = (value: object, path = ''): [string, string][] =>
  Object.entries(value).flatMap(([key, text]: [string, string | object]) =>
    typeof text === 'string' ? [[`${path}${key}`, text] as [string, string]] : textsIn(text, `${path}${key}.`),
  )

test('both languages have the same texts, with the same placeholders', () => {
  const shapeOf = (language: Language) =>
    textsIn(texts[language]).map(([path, text]) => [path, [...text.matchAll(/\{\w+\}/g)].map(String).sort()])
  expect(shapeOf('de')).toEqual(shapeOf('en'))
  expect(
    textsIn(texts.de).filter(([path, text]) => text === '' || text === new Map(textsIn(texts.en)).get(path)),
  ).toEqual([['digest.line', '{says}: {title}']])
})

interface Case {
  kind: string
  mail: (to: { recipient: string; userId: string }, language: Language) => NewMail | Promise<NewMail>
  subject: (language: Language) => string
  /** Sentences of the mail, as both languages write them. */
  says: (language: Language) => string[]
  links: number
}

const host = 'crm.example.com'
const device = { device: 'Firefox', address: '203.0.113.5', at: '2026-11-22T05:00:00.000Z' }
const times = { en: 'Time: 22 Nov 2026, 06:00 CET', de: 'Zeit: 22. Nov. 2026, 06:00 MEZ' }
const changes = Object.keys(texts.en.accountChanged.changes) as AccountChange[]
const webhookStates = ['failing', 'disabled', 'gone', 'recovered'] as const

async function newInvitation(email: string, days: number): Promise<NewMail> {
  const recordId = randomUUID()
  await service.database.crossTenantQuery(
    'check the database',
    sql`insert into invitations (organization_id, id, email, email_key, role, expires_at)
      values (${organization.uuid}, ${recordId}, ${email}, ${email}, 'member', now() + make_interval(hours => ${days * 24}))`,
  )
  return { kind: 'invitation', recipient: email, organizationId: organization.uuid, recordId }
}

const cases: Case[] = [
  {
    kind: 'sign-up',
    mail: ({ recipient }) => ({ kind: 'sign-up', recipient }),
    subject: (language) => texts[language].alreadyRegistered.subject,
    says: (language) => [fill(texts[language].alreadyRegistered.text, { host })],
    links: 0,
  },
  ...(['verify-address', 'reset-password'] as const).map((kind): Case => {
    const key = kind === 'verify-address' ? 'verifyAddress' : 'resetPassword'
    return {
      kind,
      mail: ({ recipient, userId }) => ({ kind, recipient, userId }),
      subject: (language) => texts[language][key].subject,
      says: (language) => [fill(texts[language][key].text, { host }), `${texts[language][key].link}:`],
      links: 1,
    }
  }),
  ...([0.5, 1, 3] as const).map((days): Case => ({
    kind: 'invitation',
    mail: ({ recipient }) => newInvitation(recipient, days),
    subject: (language) => fill(texts[language].invitation.subject, { organization: organization.name }),
    says: (language) => {
      const { lifetime, shortLifetime } = texts[language].invitation
      return [days < 1 ? shortLifetime : days === 1 ? lifetime.one : fill(lifetime.other, { count: '3' })]
    },
    links: 1,
  })),
  {
    kind: 'new-device',
    mail: (to) => ({ ...to, kind: 'new-device', facts: device }),
    subject: (language) => texts[language].newDevice.subject,
    says: (language) => [times[language], fill(texts[language].newDevice.device, { device: 'Firefox' })],
    links: 0,
  },
  ...changes.map((what): Case => ({
    kind: 'account-changed',
    mail: (to) => ({ ...to, kind: 'account-changed', facts: { what } }),
    subject: (language) => texts[language].accountChanged.subject,
    says: (language) => [texts[language].accountChanged.changes[what]],
    links: 0,
  })),
  ...webhookStates.map((what): Case => ({
    kind: 'webhook',
    mail: (to) => ({ ...to, kind: 'webhook', organizationId: organization.uuid, facts: { what, host: 'hooks' } }),
    subject: (language) => texts[language].webhook[what].subject,
    says: (language) => [texts[language].webhook[what].text, texts[language].webhook[what].advice],
    links: 0,
  })),
  ...(['reminder', 'taskDue'] as const).map((what): Case => ({
    kind: 'reminder',
    mail: (to) => ({
      ...to,
      kind: 'reminder',
      organizationId: organization.uuid,
      facts: { what, title: 'Ada', path: '/tasks/tsk_1' },
    }),
    subject: (language) => texts[language].reminder[what].subject,
    says: (language) => [texts[language].reminder[what].text, fill(texts[language].reminder.task, { title: 'Ada' })],
    links: 1,
  })),
  {
    kind: 'digest',
    mail: (to, language) => {
      const lines = [
        { says: 'Says', title: 'Ada', path: '/a' },
        { says: 'Twelve deals', title: '', path: '/b' },
      ]
      const facts = { language, count: '1202', lines: JSON.stringify(lines), records: '', path: '/inbox' }
      return { ...to, kind: 'digest', organizationId: organization.uuid, facts }
    },
    subject: (language) => fill(texts[language].digest.subject, { count: language === 'de' ? '1.202' : '1,202' }),
    says: (language) => [
      'Says: Ada:',
      'Twelve deals:',
      fill(texts[language].digest.others.other, { count: language === 'de' ? '1.200' : '1,200' }),
    ],
    links: 4,
  },
]

test('every kind of mail has a case', () => {
  expect(new Set(cases.map(({ kind }) => kind))).toEqual(new Set(mailKindNames))
})

test.each(languages)('every mail to a person who has chosen %s is in it', async (language) => {
  const queued = await Promise.all(
    cases.map(async (one) => {
      const { id, email } = await personWho(language)
      await enqueue(service, await one.mail({ recipient: email, userId: id }, language))
      return { ...one, email }
    }),
  )
  service.wake('mail')
  for (const { kind, email, subject, says, links } of queued) {
    const received = await nextTo(email)
    expect(received.subject, kind).toBe(subject(language))
    expect(received.headers.get('content-language'), kind).toBe(language)
    expect(received.html, kind).toContain(`<html lang="${language}">`)
    for (const text of says(language)) expect(received.text, kind).toContain(text)
    expect(received.text, kind).not.toMatch(/[{}]/)
    expect(received.links, kind).toHaveLength(links)
  }
})

test.each(languages)(
  'a link that was requested on a page in %s is mailed in it, unless the person has chosen another one',
  async (language) => {
    const other = language === 'en' ? 'de' : 'en'
    const request = async (path: string, email: string) => {
      const answer = await service.anonymous('POST', path, { body: { email, language } })
      expect(answer.status, answer.text).toBe(202)
      return nextTo(email)
    }
    expect((await request('/auth/sign-up', newAddress())).subject).toBe(texts[language].signUp.subject)
    for (const [chosen, expected] of [
      [null, language],
      [other, other],
    ] as const) {
      const { email } = await personWho(chosen)
      expect((await request('/auth/forgot-password', email)).subject).toBe(texts[expected].resetPassword.subject)
      expect((await request('/auth/sign-up', email)).subject).toBe(texts[expected].alreadyRegistered.subject)
    }
  },
)

test('without any choice, mails are in the default language of the service', async () => {
  const { email } = await personWho(null)
  await enqueue(service, { kind: 'reset-password', recipient: email })
  const mail = await nextTo(email)
  expect([mail.subject, mail.headers.get('content-language')]).toEqual([texts.de.resetPassword.subject, 'de'])
})

test('a new person is invited in the language of the sender, and gets that of the page on which they join', async () => {
  const sender = await service.newOrganization()
  const asSender = callAs(service, sender.accessToken)
  const chosen = await asSender('PATCH', '/v5/me', { body: { language: 'en' } })
  expect(chosen.body).toMatchObject({ language: 'en' })
  const email = newAddress()
  expect((await asSender('POST', '/v5/invitations', { body: { email, role: 'member' } })).status).toBe(201)
  const token = await receiveLinkToken(receiver, email, 'invitation')
  const invited = receiver.mails().find(({ to }) => to.includes(email))
  expect(invited?.headers.get('content-language')).toBe('en')
  const body = { token, name: 'Ada', password: goodPassword, language: 'de' }
  const accepted = await service.anonymous('POST', '/auth/invitations/accept', { body })
  expect(accepted.status, accepted.text).toBe(200)
  const asPerson = callAs(service, accepted.body.accessToken)
  expect((await asPerson('GET', '/v5/me')).body).toMatchObject({ email, language: 'de' })
  for (const language of [null, 'en']) {
    expect((await asPerson('PATCH', '/v5/me', { body: { language } })).body).toMatchObject({ language })
    expect((await asPerson('PATCH', '/v5/me', { body: { name: 'Ada' } })).body).toMatchObject({ language })
  }
  expect((await asPerson('PATCH', '/v5/me', { body: { language: 'fr' } })).status).toBe(422)
})
