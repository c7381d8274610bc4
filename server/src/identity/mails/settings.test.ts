import { expect, test } from 'vitest'
import { parseConfig } from '../../config.ts'
import { parseAllowedHost } from '../../platform/egress/allow.ts'
import { isLoopback } from '../../platform/egress/plaintext.ts'
import { sender, smtpServer } from './settings.ts'
import { smtpOptions } from './transport.ts'

test.each([
  ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, isSecure: false, login: undefined }],
  ['smtps://mail.example.com/', { host: 'mail.example.com', port: 465, isSecure: true, login: undefined }],
  [
    'smtp://ada%40example.com:p%3A%25@mail.example.com:25',
    { host: 'mail.example.com', port: 25, isSecure: false, login: { user: 'ada@example.com', password: 'p:%' } },
  ],
  ['smtp://[::1]:2525', { host: '::1', port: 2525, isSecure: false, login: undefined }],
])('%s is parsed as a mail server', (text, server) => {
  expect(smtpServer(text)).toEqual(server)
})

test.each([
  'mail.example.com',
  'http://mail.example.com',
  'smtp://',
  'smtp:mail.example.com',
  'smtp://mail.example.com/path',
  'smtp://mail.example.com?pool=true',
  'smtp://mail.example.com#x',
  'smtp://user@mail.example.com',
  'smtp://:password@mail.example.com',
  'smtp://user:100%@mail.example.com',
  'smtp://mail.example.com:0',
  'smtp://mail.example.com:65536',
  'smtp://mail%0d%0aQUIT.example.com',
])('%s is not a valid mail server', (text) => {
  expect(() => smtpServer(text)).toThrow(/^(?:expected|must) /)
})

test.each([
  ['crm@example.com', { name: '', address: 'crm@example.com' }],
  ['Rapport <crm@example.com>', { name: 'Rapport', address: 'crm@example.com' }],
  ['"Rapport, the CRM" <crm@example.com>', { name: 'Rapport, the CRM', address: 'crm@example.com' }],
])('%s is parsed as a sender', (text, expected) => {
  expect(sender(text)).toEqual(expected)
})

test.each([
  '',
  'Rapport',
  'crm@localhost',
  'a@example.com, b@example.com',
  'Rapport <crm@example.com> <b@example.com>',
  'R\r\nBcc: x <crm@example.com>',
])('%j is not a valid sender', (text) => {
  expect(() => sender(text)).toThrow(/^expected/)
})

test('a mail server without a sender is rejected at the start, and no error contains the password', () => {
  expect(() => parseConfig({ SMTP_URL: 'smtp://mail.example.com' })).toThrow(/SMTP_URL requires MAIL_FROM/)
  const wrong = () => parseConfig({ SMTP_URL: 'smtp://user:hunter2@mail.example.com/x' })
  expect(wrong).toThrow(/SMTP_URL: expected a URL without path/)
  expect(wrong).not.toThrow(/hunter2/)
})

test('STARTTLS with a valid certificate is required, except for this machine and hosts that the operator names', () => {
  const named = ['mail.internal', '10.0.0.0/8', 'other.internal:2525'].map(parseAllowedHost)
  const of = (url: string) => {
    const { secure, requireTLS, tls } = smtpOptions(smtpServer(url), named)
    return { secure, requireTLS, isChecked: tls.rejectUnauthorized }
  }
  for (const remote of ['u:p@mail.example.com', 'mail.example.com', 'u:p@192.0.2.1', '192.0.2.1', 'other.internal:25'])
    expect(of(`smtp://${remote}`), remote).toEqual({ secure: false, requireTLS: true, isChecked: true })
  for (const local of ['u:p@127.0.0.1', 'localhost', '[::1]', 'u:p@mail.internal', '10.1.2.3', 'OTHER.internal:2525'])
    expect(of(`smtp://${local}`), local).toEqual({ secure: false, requireTLS: false, isChecked: false })
  for (const from of ['u:p@127.0.0.1', 'u:p@mail.example.com', 'mail.internal'])
    expect(of(`smtps://${from}`), from).toMatchObject({ secure: true, requireTLS: false })
  expect(of('smtps://u:p@mail.example.com').isChecked).toBe(true)
})

test('only addresses of this machine count as loopback', () => {
  for (const local of ['localhost', 'mail.localhost', '127.0.0.1', '127.9.9.9', '::1'])
    expect(isLoopback(local)).toBe(true)
  for (const remote of ['127.0.0.1.example.com', '10.0.0.1', 'localhost.example.com', '127.evil.example', '::2'])
    expect(isLoopback(remote)).toBe(false)
})
