/** The texts of mails in English: `{name}` is a value, and a text with a number has a form for `one` and for `other`. */
export const english = {
  signUp: {
    subject: 'Create your account',
    text: 'Someone, probably you, asked to create an account at {host} with this address.',
    link: 'Create the account',
    lifetime: 'The link works once, for 30 minutes.',
    notYou: 'If you did not request this, ignore this mail. Nothing happens unless the link is opened.',
  },
  alreadyRegistered: {
    subject: 'You already have an account',
    text: 'Someone, probably you, asked to create an account at {host} with this address. It already has one, so you can log in.',
    password: 'If you have forgotten your password, request a new one there.',
    notYou: 'If you did not request this, you do not need to do anything. Nothing has changed.',
  },
  verifyAddress: {
    subject: 'Confirm your address',
    text: 'This address was entered for an account at {host}. Open the link to confirm that it is yours.',
    link: 'Confirm the address',
    lifetime: 'The link works once, for 24 hours.',
    notYou: 'If you have no account there, ignore this mail and do not open the link.',
  },
  resetPassword: {
    subject: 'Set a new password',
    text: 'Someone, probably you, asked to set a new password for your account at {host}.',
    link: 'Set a new password',
    lifetime: 'The link works once, for 30 minutes. Setting a new password logs you out on every device.',
    notYou:
      'If you did not request this, ignore this mail. Your password stays the same. Do not share the link with anyone.',
  },
  invitation: {
    subject: 'Invitation to {organization}',
    text: 'You are invited to join the organization “{organization}” at {host}.',
    invitedBy: 'Invited by: {name}',
    link: 'Open the invitation',
    lifetime: { one: 'The link works once, for a day.', other: 'The link works once, for {count} days.' },
    shortLifetime: 'The link works once, for less than a day.',
    notYou: 'If you do not expect this invitation, ignore this mail: you will not be added unless you use the link.',
  },
  newDevice: {
    subject: 'New login to your account',
    text: 'Someone logged in to your account at {host} from a new device.',
    time: 'Time: {time}',
    device: 'Device: {device}',
    address: 'Address: {address}',
    unknown: 'unknown',
    you: 'If this was you, you do not need to do anything.',
    notYou:
      'If this was not you, somebody knows your password. Log in, end all sessions and set a new password immediately.',
  },
  accountChanged: {
    subject: 'Your account was changed',
    text: 'Your account at {host} was changed: {change}',
    changes: {
      'password-changed': 'The password was changed.',
      'second-factor-added': 'A second factor was added.',
      'second-factor-removed': 'A second factor was removed.',
      'passkey-added': 'A passkey was added.',
      'passkey-removed': 'A passkey was removed.',
      'recovery-codes-made': 'New recovery codes were created; the previous ones no longer work.',
      'address-changed': 'The email address was changed.',
      'sessions-ended': 'All sessions were ended.',
      'identity-linked': 'A login at an organization’s provider was linked.',
      'identity-unlinked': 'A login at an organization’s provider was unlinked.',
    },
    you: 'If this was you, you do not need to do anything.',
    notYou:
      'If this was not you, somebody else can use your account. Log in, end all sessions and set a new password immediately. If you can no longer log in, ask an owner of your organization for help.',
  },
  organization: 'Organization: {organization}',
  webhook: {
    text: 'This is about a webhook of an organization at {host}.',
    receiver: 'Receiver: {receiver}',
    failing: {
      subject: 'A webhook fails',
      text: 'Everything that was sent to it in the last two and a half days has failed.',
      advice:
        'If that goes on for another two and a half days, the service stops sending to it. Look at the errors of its deliveries.',
    },
    disabled: {
      subject: 'A webhook was disabled',
      text: 'Everything that was sent to it in the last five days has failed, so the service sends nothing more.',
      advice:
        'Repair the receiver, then enable the webhook. It continues where it stopped, as far as the events are stored.',
    },
    gone: {
      subject: 'A webhook was disabled',
      text: 'The receiver answered that it no longer exists (410), so the service sends nothing more.',
      advice:
        'If that is a mistake, enable the webhook again. It continues where it stopped, as far as the events are stored.',
    },
    recovered: {
      subject: 'A webhook has recovered',
      text: 'The receiver accepts events again.',
      advice: 'You do not need to do anything.',
    },
  },
  reminder: {
    reminder: { subject: 'Reminder of a task', text: 'You asked to be reminded of a task.' },
    taskDue: { subject: 'A task is overdue', text: 'A task of yours is overdue.' },
    task: 'Task: {title}',
    link: 'Open the task',
    settings: 'Settings of your inbox decide which reminders are mailed.',
  },
  digest: {
    subject: 'New in your inbox: {count}',
    text: 'This is new for you at {host}.',
    line: '{says}: {title}',
    others: { one: 'There is one more in your inbox.', other: 'There are {count} more in your inbox.' },
    link: 'Open your inbox',
    settings: 'Choose what is mailed to you, and when',
  },
} as const

/** The keys of the English texts, with other words. */
type Translated<T> = { readonly [Key in keyof T]: T[Key] extends string ? string : Translated<T[Key]> }
export type Texts = Translated<typeof english>
