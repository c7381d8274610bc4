import type { AllowedHost } from '../../platform/egress/allow.ts'
import type { Language } from '../../platform/model/languages.ts'
import { createTransport } from './transport.ts'
import type { Sender, SmtpServer } from './settings.ts'
import { createMailWorker, type MailWorker, type MailWorkerOptions } from './worker.ts'
import { composer } from './compose.ts'

export interface MailOptions extends Pick<MailWorkerOptions, 'database' | 'secret' | 'log' | 'ready'> {
  smtpUrl: SmtpServer | undefined
  mailFrom: Sender | undefined
  plaintextHosts: readonly AllowedHost[]
  publicUrl: string | undefined
  signUp: 'open' | 'invite' | 'closed'
  /** Of people who have not chosen a language. */
  defaultLanguage: Language
  /** The origin of links in mails. */
  findOrigin: () => Promise<string>
}

/** Starts the mail worker, and logs where mails go. */
export function startMail({
  smtpUrl,
  mailFrom,
  plaintextHosts,
  publicUrl,
  signUp,
  defaultLanguage,
  findOrigin,
  ...options
}: MailOptions): MailWorker {
  const { log } = options
  const transport = smtpUrl && mailFrom && createTransport(smtpUrl, mailFrom, plaintextHosts)
  if (!transport) {
    log.info('mail: SMTP_URL is not set, so mails are stored; owners can read them at /v5/mails')
    if (signUp === 'open') log.warn('mail: SIGN_UP=open requires SMTP_URL; sign-up links reach nobody')
  } else {
    log.info({ server: `${smtpUrl.host}:${smtpUrl.port}` }, 'mail: sent through this server')
    if (publicUrl === undefined) {
      const warn = (links: string) => log.warn({ links }, 'mail: PUBLIC_URL is not set; links in mails lead here')
      options.ready.then(findOrigin).then(warn, () => undefined)
    }
  }
  return createMailWorker({ ...options, transport, compose: composer({ findOrigin, defaultLanguage }) })
}
