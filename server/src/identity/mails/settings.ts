import { normalizers } from '../../platform/model/normalizers.ts'

/** The mail server. */
export interface SmtpServer {
  host: string
  port: number
  /** Encrypted from the first byte (smtps://); otherwise by STARTTLS. */
  isSecure: boolean
  login: { user: string; password: string } | undefined
}

/** The sender of the mails. */
export interface Sender {
  name: string
  address: string
}

/** Parses SMTP_URL. The message of a thrown error follows "SMTP_URL: ". */
export function smtpServer(text: string): SmtpServer {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new Error('expected a URL that starts with smtp:// or smtps:// and names a host')
  if (url.search || url.hash || !['', '/'].includes(url.pathname))
    throw new Error('expected a URL without path, query or fragment')
  if (url.port === '0') throw new Error('expected a port from 1 to 65535, or none')
  const isSecure = url.protocol === 'smtps:'
  const host = decoded(url.hostname).replace(/^\[(.*)\]$/, '$1')
  if (!/^[\w.:-]+$/.test(host)) throw new Error('expected a host name; write an international name in its ASCII form')
  return { host, port: Number(url.port) || (isSecure ? 465 : 587), isSecure, login: loginOf(url) }
}

function loginOf({ username, password }: URL): SmtpServer['login'] {
  if (username === '' && password === '') return undefined
  if (username === '' || password === '') throw new Error('expected both a user and a password, or neither')
  return { user: decoded(username), password: decoded(password) }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Error('expected a percent-encoded user and password (write `%` as `%25` and `@` as `%40`)')
  }
}

/** Parses MAIL_FROM: an address, or a name and the address in angle brackets. */
export function sender(text: string): Sender {
  const parts = /^([^<>]*)<([^<>]+)>$/.exec(text.trim())
  const name = (parts?.[1] ?? '').trim().replace(/^"(.*)"$/, '$1')
  const address = (parts?.[2] ?? text).trim()
  if ('error' in normalizers.email(address) || /\p{Cc}/u.test(name))
    throw new Error('expected an address, or a name and an address, as in Rapport <crm@example.com>')
  return { name, address }
}
