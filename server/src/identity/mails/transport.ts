import type { AllowedHost } from '../../platform/egress/allow.ts'
import { allowsPlaintext } from '../../platform/egress/plaintext.ts'
import { normalizers } from '../../platform/model/normalizers.ts'
import type { MailBody } from './message.ts'
import type { Sender, SmtpServer } from './settings.ts'

/** A mail that is ready to send. */
export interface OutgoingMail extends Pick<MailBody, 'language' | 'text' | 'html'> {
  /** The part of the Message-ID before the `@`; the same if a mail is sent twice. */
  reference: string
  recipient: string
  subject: string
}

export interface Transport {
  /** Resolves once the mail server has accepted the mail. Error: `SendError`. */
  send(mail: OutgoingMail): Promise<void>
}

/** Why a mail was not accepted. The message is one of a fixed set: the server's response may quote the mail. */
export class SendError extends Error {
  /** True if a retry would fail too. */
  readonly isFinal: boolean
  /** Error codes for the log. */
  readonly detail: string | undefined

  constructor(message: string, { isFinal, detail }: { isFinal: boolean; detail: string | undefined }) {
    super(message)
    this.isFinal = isFinal
    this.detail = detail
  }
}

/** Milliseconds. Their sum is well below the lease of a mail. */
const limits = { connectionTimeout: 10_000, greetingTimeout: 10_000, dnsTimeout: 10_000, socketTimeout: 30_000 }
const sendTimeout = 90_000

/** The connection options for nodemailer. */
export function smtpOptions({ host, port, isSecure, login }: SmtpServer, plaintextHosts: readonly AllowedHost[]) {
  const isPlainAllowed = allowsPlaintext(plaintextHosts, { host, port })
  return {
    host,
    port,
    secure: isSecure,
    // Otherwise an attacker in between could strip STARTTLS and read links and the password.
    requireTLS: !isSecure && !isPlainAllowed,
    tls: { rejectUnauthorized: isSecure || !isPlainAllowed },
    ...(login && { auth: { user: login.user, pass: login.password } }),
    disableFileAccess: true,
    disableUrlAccess: true,
    ...limits,
  }
}

/** Sends each mail over a separate connection. The library is loaded with the first mail. */
export function createTransport(
  server: SmtpServer,
  from: Sender,
  plaintextHosts: readonly AllowedHost[] = [],
): Transport {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)
  return {
    async send({ reference, recipient, subject, language, text, html }) {
      if ('error' in normalizers.email(recipient)) throw invalidAddress
      const { createTransport: open } = await import('nodemailer')
      const sending = open(smtpOptions(server, plaintextHosts)).sendMail({
        from,
        // As objects, so that an address is never parsed as a list.
        to: { name: '', address: recipient },
        envelope: { from: from.address, to: [recipient] },
        messageId: `<${reference}@${domain}>`,
        subject,
        text,
        html,
        headers: {
          'Content-Language': language,
          // Suppress automatic replies (RFC 3834).
          'Auto-Submitted': 'auto-generated',
          'X-Auto-Response-Suppress': 'All',
        },
      })
      await withTimeout(sendTimeout, sending).catch((error: unknown) => {
        throw toSendError(error)
      })
    },
  }
}

async function withTimeout(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SendError(unreachable, { isFinal: false, detail: 'too slow' })), milliseconds)
  })
  try {
    await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

const invalidAddress = new SendError('the address is invalid', { isFinal: true, detail: undefined })
const unreachable = 'the mail server could not be reached'

interface Failure {
  code?: string
  originalCode?: string
  responseCode?: number
  command?: string
}

/** Maps the library's error. Only errors of the mail itself are final: a wrong password or sender can be corrected. */
function toSendError(error: unknown): SendError {
  if (error instanceof SendError) return error
  const { code = '', originalCode, responseCode, command = '' } = error as Failure
  // Detected by the library before anything was sent.
  if (code === 'EENVELOPE' && command === 'API') return invalidAddress
  const refused = code === 'EAUTH' ? 'the mail server rejected the login' : refusals[command]
  const isRefused = responseCode !== undefined && refused !== undefined
  return new SendError(isRefused ? `${refused} (${responseCode})` : fallback(code), {
    isFinal: isRefused && responseCode >= 500 && (command === 'RCPT TO' || command === 'DATA'),
    detail: [originalCode ?? code, command, responseCode].filter(Boolean).join(' '),
  })
}

const refusals: Readonly<Record<string, string>> = {
  'MAIL FROM': 'the mail server rejected the sender',
  'RCPT TO': 'the mail server rejected the recipient',
  DATA: 'the mail server rejected the mail',
}

const fallback = (code: string): string =>
  code === 'ETLS' ? 'the connection to the mail server could not be encrypted' : unreachable
