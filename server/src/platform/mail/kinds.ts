/** What mails there are, a sentence each. */
export const mailKinds = {
  'sign-up': 'A link to make an account; to an address that has one already, that it has.',
  'verify-address': 'A link that proves an address.',
  'reset-password': 'A link to set a new password; nothing to an address that has no account.',
  invitation: 'A link to join an organization.',
  'new-device': 'A log-in from a device that was not seen before.',
  'account-changed': 'A change to how a person proves who they are.',
} as const
export type MailKind = keyof typeof mailKinds
export const mailKindNames = Object.keys(mailKinds) as [MailKind, ...MailKind[]]

/** What of an account can have changed, as a mail tells it. */
export const accountChanges = {
  'password-changed': 'The password was changed.',
  'second-factor-added': 'A second factor was added.',
  'second-factor-removed': 'A second factor was removed.',
  'passkey-added': 'A passkey was added.',
  'passkey-removed': 'A passkey was removed.',
  'recovery-codes-made': 'New recovery codes were made, and the ones before are no longer good.',
  'address-changed': 'The email address was changed.',
  'sessions-ended': 'Every session was ended.',
  'identity-linked': 'A log-in with an organization’s own provider was linked.',
  'identity-unlinked': 'A log-in with an organization’s own provider was unlinked.',
} as const
export type AccountChange = keyof typeof accountChanges

/** queued: to be composed and sent; kept: composed, and shown to the owners because there is no mail server. */
export const mailStatuses = ['queued', 'sent', 'kept', 'failed', 'dropped'] as const

interface ToWhom {
  /** The address as it was typed. */
  recipient: string
  /** The uuid of the person whose account it is about; without it the address says who. */
  userId?: string | null
}

/** A mail to be composed and sent; the ids are uuids. */
export type NewMail = ToWhom &
  (
    | { kind: 'sign-up' | 'reset-password' | 'verify-address' }
    | { kind: 'invitation'; organizationId: string; recordId: string }
    | { kind: 'new-device'; facts: DeviceFacts }
    | { kind: 'account-changed'; facts: { what: AccountChange } }
  )

/** The device that somebody logged in from, as far as the request told. */
export interface DeviceFacts {
  device: string | null
  address: string | null
  /** ISO 8601, UTC. */
  at: string
}
