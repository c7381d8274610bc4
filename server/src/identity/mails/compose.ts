import { isIP } from 'node:net'
import { createOneTimeToken, type OneTimePurpose } from '../access/one-time-token-store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { firstLanguage, type Language } from '../../platform/model/languages.ts'
import type { DigestLine } from './store.ts'
import type { MailKind } from './kinds.ts'
import { type Message, sanitizeName } from './message.ts'
import type { QueuedMail } from './queue-store.ts'
import type { Composition } from './worker.ts'
import { type Addressee, findAddressee, findInvitation, findOrganizationName } from './compose-store.ts'
import { fill, type Values, type Writer, writerFor } from './texts.ts'

/** Seconds that links are valid; invitations have their own expiry. */
const lifetimes = { 'sign-up': 30 * 60, 'reset-password': 30 * 60, 'verify-address': 24 * 60 * 60 }
/** No mail is sent for an invitation that expires sooner. */
const minSeconds = 60

type Compose = (db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress) => Promise<Composition>

/** The public address of the service. */
interface ServiceAddress extends Values {
  origin: string
  /** The name of the service in mails. */
  host: string
  /** The language of people who have not chosen one. */
  language: Language
}

/** Composes mails with links to the origin, in the language of each person or in the default one. */
export const composer =
  ({ findOrigin, defaultLanguage }: { findOrigin: () => Promise<string>; defaultLanguage: Language }) =>
  async (db: CrossTenantConnection, mail: QueuedMail): Promise<Composition> => {
    const origin = await findOrigin()
    return composers[mail.kind](db, mail, { origin, host: new URL(origin).host, language: defaultLanguage })
  }

const composers: Readonly<Record<MailKind, Compose>> = {
  'sign-up': signUp,
  'verify-address': verifyAddress,
  'reset-password': resetPassword,
  invitation,
  'new-device': newDevice,
  'account-changed': accountChanged,
  webhook,
  reminder,
  digest,
}

/** Writes in the first of these languages that is known, or in the default one. */
const writerOf = ({ language }: ServiceAddress, ...names: readonly (string | null | undefined)[]): Writer =>
  writerFor(firstLanguage(...names) ?? language)

/** Only the reader of the mail learns whether the address has an account. */
async function signUp(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  const writer = writerOf(service, person?.language, mail.facts.language)
  if (person) return toPerson(person, alreadyRegistered(service, writer))
  const { recipient } = mail
  const newToken = { purpose: 'sign-up', email: recipient, lifetimeSeconds: lifetimes['sign-up'] } as const
  const token = await createLink(db, newToken, service)
  const { subject, text, link, lifetime, notYou } = writer.texts.signUp
  const parts = [fill(text, service), { label: link, url: token.url }, lifetime, notYou]
  const message = { language: writer.language, subject, parts }
  return { message, recipient, token, organizationId: null, userId: null }
}

function alreadyRegistered(service: ServiceAddress, { language, texts }: Writer): Message {
  const { subject, text, password, notYou } = texts.alreadyRegistered
  return { language, subject, parts: [fill(text, service), password, notYou] }
}

async function verifyAddress(
  db: CrossTenantConnection,
  mail: QueuedMail,
  service: ServiceAddress,
): Promise<Composition> {
  const person = await findAddressee(db, mail)
  if (!person) return accountGone
  const { recipient } = mail
  const lifetimeSeconds = lifetimes['verify-address']
  const newToken = { purpose: 'verify-address', userId: person.id, email: recipient, lifetimeSeconds } as const
  const token = await createLink(db, newToken, service)
  const { language, texts } = writerOf(service, person.language)
  const { subject, text, link, lifetime, notYou } = texts.verifyAddress
  const parts = [fill(text, service), { label: link, url: token.url }, lifetime, notYou]
  return { ...toPerson(person, { language, subject, parts }), recipient, token }
}

async function resetPassword(
  db: CrossTenantConnection,
  mail: QueuedMail,
  service: ServiceAddress,
): Promise<Composition> {
  const person = await findAddressee(db, mail)
  if (!person) return { dropped: 'the address has no account' }
  const lifetimeSeconds = lifetimes['reset-password']
  const newToken = { purpose: 'reset-password', userId: person.id, email: person.email, lifetimeSeconds } as const
  const token = await createLink(db, newToken, service)
  const { language, texts } = writerOf(service, person.language, mail.facts.language)
  const { subject, text, link, lifetime, notYou } = texts.resetPassword
  const parts = [fill(text, service), { label: link, url: token.url }, lifetime, notYou]
  return { ...toPerson(person, { language, subject, parts }), token }
}

async function invitation(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const { organizationId, recordId } = mail
  const invited = await findInvitation(db, mail)
  if (!invited || invited.secondsLeft < minSeconds) return { dropped: 'the invitation has ended' }
  const { email, secondsLeft: lifetimeSeconds } = invited
  const token = await createLink(
    db,
    { purpose: 'invitation', email, organizationId, recordId, lifetimeSeconds },
    service,
  )
  const { language, texts, counted } = writerOf(service, invited.language)
  const { subject, text, invitedBy, link, lifetime, shortLifetime, notYou } = texts.invitation
  const values = { ...service, organization: sanitizeName(invited.organization) }
  // Rounded: a moment after its creation, slightly less than seven days are left.
  const days = Math.round(lifetimeSeconds / (24 * 60 * 60))
  const message: Message = {
    language,
    subject: fill(subject, values),
    parts: [
      fill(text, values),
      // On a separate line, so that a name such as `you` cannot change the meaning of a sentence.
      ...(invited.invitedBy === null ? [] : [fill(invitedBy, { name: sanitizeName(invited.invitedBy) })]),
      { label: link, url: token.url },
      days > 0 ? counted(lifetime, days) : shortLifetime,
      notYou,
    ],
  }
  return { message, recipient: email, token, organizationId, userId: null }
}

async function newDevice(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  if (!person) return accountGone
  const { device, address, at } = mail.facts
  const writer = writerOf(service, person.language)
  const texts = writer.texts.newDevice
  const message: Message = {
    language: writer.language,
    subject: texts.subject,
    parts: [
      fill(texts.text, service),
      fill(texts.time, { time: at ? writer.time(new Date(at), person.timeZone ?? 'UTC') : texts.unknown }),
      fill(texts.device, { device: device ? sanitizeName(device) : texts.unknown }),
      fill(texts.address, { address: address && isIP(address) ? address : texts.unknown }),
      texts.you,
      texts.notYou,
    ],
  }
  return { ...toPerson(person, message), recipient: mail.recipient }
}

async function accountChanged(
  db: CrossTenantConnection,
  mail: QueuedMail,
  service: ServiceAddress,
): Promise<Composition> {
  const person = await findAddressee(db, mail)
  if (!person) return accountGone
  const { language, texts } = writerOf(service, person.language)
  const { subject, text, changes, you, notYou } = texts.accountChanged
  const change = Object.entries(changes).find(([name]) => name === mail.facts.what)?.[1]
  if (change === undefined) throw new Error('unknown kind of account change')
  const message: Message = { language, subject, parts: [fill(text, { ...service, change }), you, notYou] }
  return { ...toPerson(person, message), recipient: mail.recipient }
}

async function webhook(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  const organization = await findOrganizationName(db, mail.organizationId)
  if (!person || organization === undefined) return accountGone
  const { language, texts } = writerOf(service, person.language)
  const { text, receiver, ...happened } = texts.webhook
  const what = Object.entries(happened).find(([name]) => name === mail.facts.what)?.[1]
  if (!what) throw new Error('unknown kind of webhook mail')
  const message: Message = {
    language,
    subject: what.subject,
    parts: [
      fill(text, service),
      fill(texts.organization, { organization: sanitizeName(organization) }),
      fill(receiver, { receiver: sanitizeName(mail.facts.host ?? '') }),
      what.text,
      what.advice,
    ],
  }
  return { ...toPerson(person, message), organizationId: mail.organizationId }
}

async function reminder(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  const organization = await findOrganizationName(db, mail.organizationId)
  if (!person || organization === undefined) return accountGone
  const { what, title, path } = mail.facts
  const { language, texts } = writerOf(service, person.language)
  const { task, link, settings, ...reasons } = texts.reminder
  const { subject, text } = what === 'taskDue' ? reasons.taskDue : reasons.reminder
  const message: Message = {
    language,
    subject,
    parts: [
      text,
      // On separate lines, like every text that others have written.
      fill(task, { title: sanitizeName(title ?? '') }),
      fill(texts.organization, { organization: sanitizeName(organization) }),
      { label: link, url: `${service.origin}${path ?? ''}` },
      settings,
    ],
  }
  return { ...toPerson(person, message), organizationId: mail.organizationId }
}

async function digest(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  const organization = await findOrganizationName(db, mail.organizationId)
  if (!person || organization === undefined) return accountGone
  const { lines: text, path } = mail.facts
  const lines = JSON.parse(text ?? '[]') as DigestLine[]
  const [count, inbox] = [Number(mail.facts.count), `${service.origin}${path ?? ''}`]
  const others = count - lines.length
  // Its lines were written in this language, even if the person has chosen another one since.
  const { language, texts, number, counted } = writerOf(service, mail.facts.language, person.language)
  const words = texts.digest
  const message: Message = {
    language,
    subject: fill(words.subject, { count: number(count) }),
    parts: [
      fill(words.text, service),
      fill(texts.organization, { organization: sanitizeName(organization) }),
      ...lines.map(({ says, title, path: page }) => ({
        label: title === '' ? says : fill(words.line, { says, title: sanitizeName(title) }),
        url: `${service.origin}${page}`,
      })),
      ...(others > 0 ? [counted(words.others, others)] : []),
      { label: words.link, url: inbox },
      { label: words.settings, url: `${inbox}/settings` },
    ],
  }
  return { ...toPerson(person, message), organizationId: mail.organizationId }
}

const accountGone = { dropped: 'the account is gone' }

const toPerson = ({ id, email, organizationId }: Addressee, message: Message) => ({
  message,
  recipient: email,
  organizationId,
  userId: id,
})

/** Creates a token and its link, with the token in the fragment, which is not sent to servers. */
async function createLink(
  db: CrossTenantConnection,
  newToken: Parameters<typeof createOneTimeToken>[1],
  { origin }: ServiceAddress,
): Promise<{ purpose: OneTimePurpose; text: string; url: string }> {
  const text = await createOneTimeToken(db, newToken)
  return { purpose: newToken.purpose, text, url: `${origin}/account#${newToken.purpose}=${text}` }
}
