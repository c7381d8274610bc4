import { isIP } from 'node:net'
import { makeOneTimeToken, type OneTimePurpose } from '../../platform/access/one-time-tokens.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { accountChanges, type MailKind } from '../../platform/mail/kinds.ts'
import { type Message, shown } from '../../platform/mail/message.ts'
import type { QueuedMail } from '../../platform/mail/queue-store.ts'
import type { Composition } from '../../platform/mail/work.ts'
import { type Addressee, findAddressee, findInvitation } from './compose-store.ts'

/** Seconds that links are good for; an invitation says its own time. */
const lifetimes = { 'sign-up': 30 * 60, 'reset-password': 30 * 60, 'verify-address': 24 * 60 * 60 }
/** An invitation that ends sooner is not worth a mail. */
const leastSeconds = 60

type Compose = (spanning: Spanning, mail: QueuedMail, place: Place) => Promise<Composition>

/** Where the service is reached. */
interface Place {
  origin: string
  /** How a mail calls it. */
  host: string
}

/** Composes mails whose links lead to the origin. */
export const composer =
  (origin: string) =>
  (spanning: Spanning, mail: QueuedMail): Promise<Composition> =>
    composers[mail.kind](spanning, mail, { origin, host: new URL(origin).host })

const composers: Readonly<Record<MailKind, Compose>> = {
  'sign-up': signUp,
  'verify-address': verifyAddress,
  'reset-password': resetPassword,
  invitation,
  'new-device': newDevice,
  'account-changed': accountChanged,
}

const notYou = 'If it was not you, ignore this mail: nothing happens without the link.'

/** Only who reads the mail learns whether the address has an account. */
async function signUp(spanning: Spanning, mail: QueuedMail, place: Place): Promise<Composition> {
  const person = await findAddressee(spanning, mail)
  if (person) return toPerson(person, haveAccount(place))
  const { recipient } = mail
  const made = { purpose: 'sign-up', email: recipient, lifetimeSeconds: lifetimes['sign-up'] } as const
  const token = await tokenFor(spanning, made, place)
  const message: Message = {
    subject: 'Make your account',
    parts: [
      `Somebody, you we hope, wants to make an account at ${place.host} with this address.`,
      { label: 'Make the account', url: token.url },
      'The link is good once, for 30 minutes.',
      notYou,
    ],
  }
  return { message, recipient, token, organizationId: null, userId: null }
}

const haveAccount = ({ host }: Place): Message => ({
  subject: 'You have an account already',
  parts: [
    `Somebody, you we hope, wanted to make an account at ${host} with this address. It has one already: log in with it.`,
    'If you do not know the password any more, you can ask for a new one there.',
    'If it was not you, nothing needs to be done: nothing has changed.',
  ],
})

async function verifyAddress(spanning: Spanning, mail: QueuedMail, place: Place): Promise<Composition> {
  const person = await findAddressee(spanning, mail)
  if (!person) return gone
  const { recipient } = mail
  const lifetimeSeconds = lifetimes['verify-address']
  const made = { purpose: 'verify-address', userId: person.id, email: recipient, lifetimeSeconds } as const
  const token = await tokenFor(spanning, made, place)
  const message: Message = {
    subject: 'Confirm your address',
    parts: [
      `This address was given for an account at ${place.host}. Open the link to confirm that it is yours.`,
      { label: 'Confirm the address', url: token.url },
      'The link is good once, for 24 hours.',
      'If you have no account there, ignore this mail: without the link, the address does not become part of one.',
    ],
  }
  return { ...toPerson(person, message), recipient, token }
}

async function resetPassword(spanning: Spanning, mail: QueuedMail, place: Place): Promise<Composition> {
  const person = await findAddressee(spanning, mail)
  if (!person) return { dropped: 'the address has no account' }
  const lifetimeSeconds = lifetimes['reset-password']
  const made = { purpose: 'reset-password', userId: person.id, email: person.email, lifetimeSeconds } as const
  const token = await tokenFor(spanning, made, place)
  const message: Message = {
    subject: 'Set a new password',
    parts: [
      `Somebody, you we hope, asked for a new password for your account at ${place.host}.`,
      { label: 'Set a new password', url: token.url },
      'The link is good once, for 30 minutes. The new password ends every session, on every device.',
      'If it was not you, ignore this mail: your password stays as it is. Never pass the link on to anyone.',
    ],
  }
  return { ...toPerson(person, message), token }
}

async function invitation(spanning: Spanning, mail: QueuedMail, place: Place): Promise<Composition> {
  const { organizationId, recordId } = mail
  const invited = await findInvitation(spanning, mail)
  if (!invited || invited.secondsLeft < leastSeconds) return { dropped: 'the invitation has ended' }
  const { email, secondsLeft: lifetimeSeconds } = invited
  const token = await tokenFor(
    spanning,
    { purpose: 'invitation', email, organizationId, recordId, lifetimeSeconds },
    place,
  )
  const organization = shown(invited.organization)
  const who = invited.invitedBy === null ? 'Somebody' : shown(invited.invitedBy)
  // Made moments ago, seven days have a little less.
  const days = Math.round(lifetimeSeconds / (24 * 60 * 60))
  const message: Message = {
    subject: `Invitation to ${organization}`,
    parts: [
      `${who} invites you to join the organization “${organization}” at ${place.host}.`,
      { label: 'Look at the invitation', url: token.url },
      `The link is good once, for ${days > 1 ? `${days} days` : days === 1 ? 'a day' : 'less than a day'}.`,
      'If you do not know who that is, ignore this mail: without the link you become part of nothing.',
    ],
  }
  return { message, recipient: email, token, organizationId, userId: null }
}

async function newDevice(spanning: Spanning, mail: QueuedMail, { host }: Place): Promise<Composition> {
  const person = await findAddressee(spanning, mail)
  if (!person) return gone
  const { device, address, at } = mail.facts
  const when = at ? new Date(at).toISOString().replace('T', ' ').slice(0, 16) : 'an unknown time,'
  const message: Message = {
    subject: 'Your account was logged in to from a new device',
    parts: [
      `Your account at ${host} was logged in to from a device that it was not used on before.`,
      `Time: ${when} UTC`,
      `Device: ${device ? shown(device) : 'not known'}`,
      `Address: ${address && isIP(address) ? address : 'not known'}`,
      'If it was you, nothing needs to be done.',
      'If it was not you, somebody knows your password: log in, end all sessions and set a new password at once.',
    ],
  }
  return { ...toPerson(person, message), recipient: mail.recipient }
}

async function accountChanged(spanning: Spanning, mail: QueuedMail, { host }: Place): Promise<Composition> {
  const person = await findAddressee(spanning, mail)
  if (!person) return gone
  const what = Object.entries(accountChanges).find(([name]) => name === mail.facts.what)?.[1]
  if (what === undefined) throw new Error('an account has changed in one of the ways of the list')
  const message: Message = {
    subject: 'Your account was changed',
    parts: [
      `Something about your account at ${host} was changed: ${what}`,
      'If it was you, nothing needs to be done.',
      'If it was not you, somebody else can use your account: log in, end all sessions and set a new password at once. If you cannot log in any more, ask an owner of your organization for help.',
    ],
  }
  return { ...toPerson(person, message), recipient: mail.recipient }
}

const gone = { dropped: 'the account is gone' }

const toPerson = ({ id, email, organizationId }: Addressee, message: Message) => ({
  message,
  recipient: email,
  organizationId,
  userId: id,
})

/** A new token, and the link that holds it where no server sees it: in the fragment. */
async function tokenFor(
  spanning: Spanning,
  made: Parameters<typeof makeOneTimeToken>[1],
  { origin }: Place,
): Promise<{ purpose: OneTimePurpose; text: string; url: string }> {
  const text = await makeOneTimeToken(spanning, made)
  return { purpose: made.purpose, text, url: `${origin}/account#${made.purpose}=${text}` }
}
