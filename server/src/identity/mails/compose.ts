import { isIP } from 'node:net'
import { createOneTimeToken, type OneTimePurpose } from '../access/one-time-token-store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { accountChanges, type DigestLine } from './store.ts'
import type { MailKind } from './kinds.ts'
import { type Message, sanitizeName } from './message.ts'
import type { QueuedMail } from './queue-store.ts'
import type { Composition } from './worker.ts'
import { type Addressee, findAddressee, findInvitation, findOrganizationName } from './compose-store.ts'

/** Seconds that links are valid; invitations have their own expiry. */
const lifetimes = { 'sign-up': 30 * 60, 'reset-password': 30 * 60, 'verify-address': 24 * 60 * 60 }
/** No mail is sent for an invitation that expires sooner. */
const minSeconds = 60

type Compose = (db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress) => Promise<Composition>

/** The public address of the service. */
interface ServiceAddress {
  origin: string
  /** The name of the service in mails. */
  host: string
}

/** Composes mails with links to the origin. */
export const composer =
  (findOrigin: () => Promise<string>) =>
  async (db: CrossTenantConnection, mail: QueuedMail): Promise<Composition> => {
    const origin = await findOrigin()
    return composers[mail.kind](db, mail, { origin, host: new URL(origin).host })
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

const notYou = 'If you did not request this, ignore this mail. Nothing happens unless the link is opened.'

/** Only the reader of the mail learns whether the address has an account. */
async function signUp(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  if (person) return toPerson(person, alreadyRegistered(service))
  const { recipient } = mail
  const newToken = { purpose: 'sign-up', email: recipient, lifetimeSeconds: lifetimes['sign-up'] } as const
  const token = await createLink(db, newToken, service)
  const message: Message = {
    subject: 'Create your account',
    parts: [
      `Someone, probably you, asked to create an account at ${service.host} with this address.`,
      { label: 'Create the account', url: token.url },
      'The link works once, for 30 minutes.',
      notYou,
    ],
  }
  return { message, recipient, token, organizationId: null, userId: null }
}

const alreadyRegistered = ({ host }: ServiceAddress): Message => ({
  subject: 'You already have an account',
  parts: [
    `Someone, probably you, asked to create an account at ${host} with this address. It already has one, so you can log in.`,
    'If you have forgotten your password, request a new one there.',
    'If you did not request this, you do not need to do anything. Nothing has changed.',
  ],
})

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
  const message: Message = {
    subject: 'Confirm your address',
    parts: [
      `This address was entered for an account at ${service.host}. Open the link to confirm that it is yours.`,
      { label: 'Confirm the address', url: token.url },
      'The link works once, for 24 hours.',
      'If you have no account there, ignore this mail and do not open the link.',
    ],
  }
  return { ...toPerson(person, message), recipient, token }
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
  const message: Message = {
    subject: 'Set a new password',
    parts: [
      `Someone, probably you, asked to set a new password for your account at ${service.host}.`,
      { label: 'Set a new password', url: token.url },
      'The link works once, for 30 minutes. Setting a new password logs you out on every device.',
      'If you did not request this, ignore this mail. Your password stays the same. Do not share the link with anyone.',
    ],
  }
  return { ...toPerson(person, message), token }
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
  const organization = sanitizeName(invited.organization)
  // Rounded: a moment after its creation, slightly less than seven days are left.
  const days = Math.round(lifetimeSeconds / (24 * 60 * 60))
  const message: Message = {
    subject: `Invitation to ${organization}`,
    parts: [
      `You are invited to join the organization “${organization}” at ${service.host}.`,
      // On a separate line, so that a name such as `you` cannot change the meaning of a sentence.
      ...(invited.invitedBy === null ? [] : [`Invited by: ${sanitizeName(invited.invitedBy)}`]),
      { label: 'Open the invitation', url: token.url },
      `The link works once, for ${days > 1 ? `${days} days` : days === 1 ? 'a day' : 'less than a day'}.`,
      'If you do not expect this invitation, ignore this mail: you will not be added unless you use the link.',
    ],
  }
  return { message, recipient: email, token, organizationId, userId: null }
}

async function newDevice(db: CrossTenantConnection, mail: QueuedMail, { host }: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  if (!person) return accountGone
  const { device, address, at } = mail.facts
  const when = at ? new Date(at).toISOString().replace('T', ' ').slice(0, 16) : 'an unknown time,'
  const message: Message = {
    subject: 'New login to your account',
    parts: [
      `Someone logged in to your account at ${host} from a new device.`,
      `Time: ${when} UTC`,
      `Device: ${device ? sanitizeName(device) : 'unknown'}`,
      `Address: ${address && isIP(address) ? address : 'unknown'}`,
      'If this was you, you do not need to do anything.',
      'If this was not you, somebody knows your password. Log in, end all sessions and set a new password immediately.',
    ],
  }
  return { ...toPerson(person, message), recipient: mail.recipient }
}

async function accountChanged(
  db: CrossTenantConnection,
  mail: QueuedMail,
  { host }: ServiceAddress,
): Promise<Composition> {
  const person = await findAddressee(db, mail)
  if (!person) return accountGone
  const what = Object.entries(accountChanges).find(([name]) => name === mail.facts.what)?.[1]
  if (what === undefined) throw new Error('unknown kind of account change')
  const message: Message = {
    subject: 'Your account was changed',
    parts: [
      `Your account at ${host} was changed: ${what}`,
      'If this was you, you do not need to do anything.',
      'If this was not you, somebody else can use your account. Log in, end all sessions and set a new password immediately. If you can no longer log in, ask an owner of your organization for help.',
    ],
  }
  return { ...toPerson(person, message), recipient: mail.recipient }
}

/** What a mail about a webhook says, and what to do. */
const webhookMessages: Readonly<Record<string, readonly string[]>> = {
  failing: [
    'Everything that was sent to it in the last two and a half days has failed.',
    'If that goes on for another two and a half days, the service stops sending to it. Look at the errors of its deliveries.',
  ],
  disabled: [
    'Everything that was sent to it in the last five days has failed, so the service sends nothing more.',
    'Repair the receiver, then enable the webhook. It continues where it stopped, as far as the events are stored.',
  ],
  gone: [
    'The receiver answered that it no longer exists (410), so the service sends nothing more.',
    'If that is a mistake, enable the webhook again. It continues where it stopped, as far as the events are stored.',
  ],
  recovered: ['The receiver accepts events again. You do not need to do anything.'],
}

async function webhook(db: CrossTenantConnection, mail: QueuedMail, { host }: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  const organization = await findOrganizationName(db, mail.organizationId)
  if (!person || organization === undefined) return accountGone
  const sentences = webhookMessages[mail.facts.what ?? '']
  if (!sentences) throw new Error('unknown kind of webhook mail')
  const isWell = mail.facts.what === 'recovered'
  const message: Message = {
    subject: isWell
      ? 'A webhook has recovered'
      : mail.facts.what === 'failing'
        ? 'A webhook fails'
        : 'A webhook was disabled',
    parts: [
      `This is about a webhook of an organization at ${host}.`,
      `Organization: ${sanitizeName(organization)}`,
      `Receiver: ${sanitizeName(mail.facts.host ?? '')}`,
      ...sentences,
    ],
  }
  return { ...toPerson(person, message), organizationId: mail.organizationId }
}

async function reminder(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  const organization = await findOrganizationName(db, mail.organizationId)
  if (!person || organization === undefined) return accountGone
  const { what, title, path } = mail.facts
  const message: Message = {
    subject: what === 'taskDue' ? 'A task is overdue' : 'Reminder of a task',
    parts: [
      what === 'taskDue' ? 'A task of yours is overdue.' : 'You asked to be reminded of a task.',
      // On separate lines, like every text that others have written.
      `Task: ${sanitizeName(title ?? '')}`,
      `Organization: ${sanitizeName(organization)}`,
      { label: 'Open the task', url: `${service.origin}${path ?? ''}` },
      'Settings of your inbox decide which reminders are mailed.',
    ],
  }
  return { ...toPerson(person, message), organizationId: mail.organizationId }
}

async function digest(db: CrossTenantConnection, mail: QueuedMail, service: ServiceAddress): Promise<Composition> {
  const person = await findAddressee(db, mail)
  const organization = await findOrganizationName(db, mail.organizationId)
  if (!person || organization === undefined) return accountGone
  const { count, lines: text, path } = mail.facts
  const lines = JSON.parse(text ?? '[]') as DigestLine[]
  const others = Number(count) - lines.length
  const inbox = `${service.origin}${path ?? ''}`
  const message: Message = {
    subject: `New in your inbox: ${count ?? ''}`,
    parts: [
      `This is new for you at ${service.host}.`,
      `Organization: ${sanitizeName(organization)}`,
      ...lines.map((line) => ({
        label: `${line.says}: ${sanitizeName(line.title)}`,
        url: `${service.origin}${line.path}`,
      })),
      ...(others > 0 ? [`There are ${others} more in your inbox.`] : []),
      { label: 'Open your inbox', url: inbox },
      { label: 'Choose what is mailed to you, and when', url: `${inbox}/settings` },
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
