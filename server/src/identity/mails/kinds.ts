/** The kinds of mails, each with a sentence. */
export const mailKinds = {
  'sign-up': 'A link to create an account, or a notice that the address already has one.',
  'verify-address': 'A link to verify an address.',
  'reset-password': 'A link to set a new password; not sent to an address without an account.',
  invitation: 'A link to join an organization.',
  'new-device': 'A notice of a login from a new device.',
  'account-changed': 'A notice that a password, second factor, address or session was changed.',
  webhook: 'A notice that a webhook fails, was disabled or has recovered.',
  reminder: 'A reminder of a task, or a notice that it is overdue.',
  digest: 'What is new in the inbox of a person, once a day.',
} as const
export type MailKind = keyof typeof mailKinds
export const mailKindNames = Object.keys(mailKinds) as [MailKind, ...MailKind[]]

/** queued: to be composed and sent; kept: composed and readable by the owners, because there is no mail server. */
export const mailStatuses = ['queued', 'sent', 'kept', 'failed', 'dropped'] as const
