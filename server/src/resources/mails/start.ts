import { createTransport } from '../../platform/mail/transport.ts'
import type { Sender, SmtpServer } from '../../platform/mail/settings.ts'
import { createMailWork, type MailWork, type MailWorkOptions } from '../../platform/mail/work.ts'
import { composer } from './compose.ts'

export interface MailOptions extends Pick<MailWorkOptions, 'database' | 'secret' | 'log' | 'ready'> {
  smtpUrl: SmtpServer | undefined
  mailFrom: Sender | undefined
  publicUrl: string | undefined
  signUp: 'open' | 'invite' | 'closed'
  /** What links in mails start with. */
  origin: string
}

/** Begins to compose and send, and says in the log where mails go. */
export function startMail({ smtpUrl, mailFrom, publicUrl, signUp, origin, ...work }: MailOptions): MailWork {
  const { log } = work
  const transport = smtpUrl && mailFrom && createTransport(smtpUrl, mailFrom)
  if (!transport) {
    log.info('mail: SMTP_URL is not set, so mails are kept, and owners of an organization read them at /v5/mails')
    if (signUp === 'open') log.warn('mail: SIGN_UP=open needs SMTP_URL; the links to make an account reach nobody')
  } else {
    log.info({ server: `${smtpUrl.host}:${smtpUrl.port}` }, 'mail: sent by')
    if (publicUrl === undefined) log.warn({ links: origin }, 'mail: PUBLIC_URL is not set; links in mails lead here')
  }
  return createMailWork({ ...work, transport, compose: composer(origin) })
}
