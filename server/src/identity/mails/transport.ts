import type { AllowedHost } from '../../platform/egress/allow.ts'
import { allowsPlaintext } from '../../platform/egress/plaintext.ts'
import { normalizers } from '../../platform/model/normalizers.ts'
import type { MailBody } from './message.ts'
import type { Sender, SmtpServer } from './settings.ts'

/** A mail that is ready to go. */
export interface OutgoingMail extends Pick<MailBody, 'text' | 'html'> {
  /** Before the `@` of its Message-ID: the same for what may be sent twice. */
  reference: string
  recipient: string
  subject: string
}

export interface Transport {
  /** Resolves once the mail server took the mail. Error: `SendError`. */
  send(mail: OutgoingMail): Promise<void>
}

/** Why a mail was not taken. The message is of a closed list: what the server answered may quote the mail. */
export class SendError extends Error {
  /** True when another attempt would end the same. */
  readonly isFinal: boolean
  /** For the log: what this side met with. */
  readonly detail: string | undefined

  constructor(message: string, { isFinal, detail }: { isFinal: boolean; detail: string | undefined }) {
    super(message)
    this.isFinal = isFinal
    this.detail = detail
  }
}

/** Milliseconds. Together they are well below the lease of a mail. */
const limits = { connectionTimeout: 10_000, greetingTimeout: 10_000, dnsTimeout: 10_000, socketTimeout: 30_000 }
const sendTimeout = 90_000

/** How the server is spoken to: what nodemailer takes. */
export function smtpOptions({ host, port, isSecure, login }: SmtpServer, plaintextHosts: readonly AllowedHost[]) {
  const isPlainAllowed = allowsPlaintext(plaintextHosts, { host, port })
  return {
    host,
    port,
    secure: isSecure,
    // Without it, whoever is in between could take the offer of STARTTLS away and read links and password.
    requireTLS: !isSecure && !isPlainAllowed,
    tls: { rejectUnauthorized: isSecure || !isPlainAllowed },
    ...(login && { auth: { user: login.user, pass: login.password } }),
    disableFileAccess: true,
    disableUrlAccess: true,
    ...limits,
  }
}

/** Hands mails to the server, over a connection of its own each. The library is loaded with the first one. */
export function createTransport(
  server: SmtpServer,
  from: Sender,
  plaintextHosts: readonly AllowedHost[] = [],
): Transport {
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)
  return {
    async send({ reference, recipient, subject, text, html }) {
      if ('fault' in normalizers.email(recipient)) throw invalidAddress
      const { createTransport: open } = await import('nodemailer')
      const sending = open(smtpOptions(server, plaintextHosts)).sendMail({
        from,
        // As objects: nothing in an address is read as a list of them.
        to: { name: '', address: recipient },
        envelope: { from: from.address, to: [recipient] },
        messageId: `<${reference}@${domain}>`,
        subject,
        text,
        html,
        // No out-of-office notes, please (RFC 3834).
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
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

/** The failure in words of ours, and whether it is the mail's own: a wrong password or sender can be put right. */
function toSendError(error: unknown): SendError {
  if (error instanceof SendError) return error
  const { code = '', originalCode, responseCode, command = '' } = error as Failure
  // The library found so, before anything was sent.
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
