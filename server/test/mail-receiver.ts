import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { until } from './processes.ts'

/** A delivered mail, parsed as a mail program does. */
export interface ReceivedMail {
  /** The addresses of the envelope. */
  from: string
  to: string[]
  subject: string
  /** With angle brackets. */
  messageId: string
  /** Decoded values, by lower-case name. */
  headers: ReadonlyMap<string, string>
  /** The plain-text part, with `\n` line breaks. */
  text: string
  html: string
  /** Every http or https address in the text, in order. */
  links: string[]
  /** The received text, unchanged. */
  raw: string
  isEncrypted: boolean
  /** The SMTP login. */
  user: string | undefined
}

/**
 * A real SMTP server on loopback, for tests of what the service sends:
 *
 *     const receiver = await startMailReceiver()
 *     const service = await startTestService({ SMTP_URL: receiver.url, MAIL_FROM: 'Rapport <crm@example.com>' })
 *     const mail = await receiver.next(({ to, subject }) => to.includes(email) && /password/.test(subject))
 *     const token = new URL(mail.links[0] ?? '').hash.split('=')[1]
 *     await receiver.close()
 */
export interface MailReceiver {
  /** For SMTP_URL, without credentials. */
  url: string
  port: number
  /** All received mails, oldest first. */
  mails(): readonly ReceivedMail[]
  /** The first matching mail that `next` has not returned yet; waits up to 15 seconds for it. */
  next(matches?: (mail: ReceivedMail) => boolean): Promise<ReceivedMail>
  /** The number of connections so far. */
  connections(): number
  /** The user of every login attempt. */
  logins(): readonly string[]
  close(): Promise<void>
}

export interface ReceiverOptions {
  /** Default: any free port. */
  port?: number
  host?: string
  /** `always`: from the first byte (smtps); `offered`: by STARTTLS; `never`. */
  encryption?: 'always' | 'offered' | 'never'
  /** PEM texts. Default: an untrusted certificate. */
  certificate?: { key: string; cert: string }
  /** The required login. */
  login?: { user: string; password: string }
  /** The SMTP status to reject a recipient with, or a mail after its data. */
  refuseRecipient?: (address: string) => number | undefined
  refuseMail?: (mail: ReceivedMail) => number | undefined
}

/** By default the receiver accepts every mail, unencrypted and without a login. */
export async function startMailReceiver(options: ReceiverOptions = {}): Promise<MailReceiver> {
  const { port = 0, host = '127.0.0.1', encryption = 'never' } = options
  const received: ReceivedMail[] = []
  const returned = new Set<ReceivedMail>()
  const logins: string[] = []
  let connections = 0
  const server = new SMTPServer({
    ...serverOptions(options, { store: (mail) => received.push(mail), recordLogin: (user) => logins.push(user) }),
    onConnect: (_, done) => {
      connections++
      done()
    },
  })
  // Tests disconnect clients on purpose.
  server.on('error', () => undefined)
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: boundPort } = server.server.address() as AddressInfo
  return {
    url: `${encryption === 'always' ? 'smtps' : 'smtp'}://${host}:${boundPort}`,
    port: boundPort,
    mails: () => received,
    async next(matches = () => true) {
      const find = () => received.find((mail) => !returned.has(mail) && matches(mail))
      await until('the mail arrives', () => find() !== undefined)
      const mail = find()
      if (!mail) throw new Error('no mail arrived')
      returned.add(mail)
      return mail
    },
    connections: () => connections,
    logins: () => logins,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Real spam filters quote the rejected content too. */
const rejection = (status: number, quoted = ''): Error =>
  Object.assign(new Error(`refused because of ${quoted}`), { responseCode: status })

function serverOptions(
  { encryption = 'never', certificate, login, refuseRecipient, refuseMail }: ReceiverOptions,
  { store, recordLogin }: { store: (mail: ReceivedMail) => void; recordLogin: (user: string) => void },
): SMTPServerOptions {
  return {
    ...certificate,
    secure: encryption === 'always',
    authOptional: !login,
    allowInsecureAuth: true,
    disabledCommands: [...(encryption === 'offered' ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
    disableReverseLookup: true,
    closeTimeout: 100,
    logger: false,
    onAuth: ({ username, password }, _, done) => {
      recordLogin(username ?? '')
      if (username === login?.user && password === login?.password) done(null, { user: username })
      else done(rejection(535))
    },
    onRcptTo: ({ address }, _, done) => {
      const status = refuseRecipient?.(address)
      done(status === undefined ? null : rejection(status, address))
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const mail = readMail(Buffer.concat(chunks).toString('utf8'), session)
        const status = refuseMail?.(mail)
        if (status === undefined) store(mail)
        done(status === undefined ? null : rejection(status, mail.links.join(' ')))
      })
    },
  }
}

/** Parses a message as a mail program does. */
export function readMail(raw: string, session?: SMTPServerSession): ReceivedMail {
  const { headers, parts } = readPart(raw)
  const text = parts.get('text/plain') ?? ''
  const mailFrom = session?.envelope.mailFrom
  return {
    from: mailFrom ? mailFrom.address : '',
    to: session?.envelope.rcptTo.map(({ address }) => address) ?? [],
    subject: headers.get('subject') ?? '',
    messageId: headers.get('message-id') ?? '',
    headers,
    text,
    html: parts.get('text/html') ?? '',
    links: text.match(/https?:\/\/[^\s<>"]+/g) ?? [],
    raw,
    isEncrypted: session?.secure ?? false,
    user: session?.user,
  }
}

interface Part {
  headers: Map<string, string>
  /** The texts, by media type. */
  parts: Map<string, string>
}

function readPart(source: string): Part {
  const end = source.indexOf('\r\n\r\n')
  const head = (end < 0 ? source : source.slice(0, end)).replace(/\r\n[ \t]+/g, ' ')
  const body = end < 0 ? '' : source.slice(end + 4)
  const headers = new Map(
    head.split('\r\n').map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())]
    }),
  )
  const type = headers.get('content-type') ?? 'text/plain'
  const boundary = /^multipart\/.*boundary="?([^";]+)"?/i.exec(type)?.[1]
  if (boundary === undefined) {
    const decoded = decodeBody(body, headers.get('content-transfer-encoding') ?? '7bit')
    return { headers, parts: new Map([[type.split(';')[0]?.toLowerCase() ?? '', decoded]]) }
  }
  const inner = `\r\n${body}`.split(`\r\n--${boundary}`).slice(1, -1)
  return { headers, parts: new Map(inner.flatMap((part) => [...readPart(part.replace(/^\r\n/, '')).parts])) }
}

function decodeBody(body: string, encoding: string): string {
  const bytes =
    encoding.toLowerCase() === 'base64'
      ? Buffer.from(body, 'base64')
      : encoding.toLowerCase() === 'quoted-printable'
        ? fromQuoted(body.replace(/=\r\n/g, ''))
        : Buffer.from(body)
  return bytes.toString('utf8').replaceAll('\r\n', '\n')
}

const fromQuoted = (text: string): Buffer =>
  Buffer.from(
    text.replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

/** Decodes encoded words (RFC 2047) and removes the white space between two of them. */
const decodeWords = (text: string): string =>
  text
    .replace(/(=\?[^?]+\?[BQ]\?[^?]*\?=)\s+(?==\?)/gi, '$1')
    .replace(/=\?[^?]+\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
      (kind.toUpperCase() === 'B' ? Buffer.from(word, 'base64') : fromQuoted(word.replaceAll('_', ' '))).toString(),
    )
