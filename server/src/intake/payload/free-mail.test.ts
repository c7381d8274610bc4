import { expect, test } from 'vitest'
import { isFreeMail } from './free-mail.ts'

test.each(['gmail.com', 'gmx.de', 'yahoo.co.jp', 'hotmail.fr', 'web.de', 'qq.com', 'hey.com', 'mailinator.com'])(
  '%s and its subdomains are free mail',
  (domain) => {
    expect(isFreeMail(domain)).toBe(true)
    expect(isFreeMail(`mail.${domain}`)).toBe(true)
  },
)

test.each([
  'acme.example',
  'notgmail.com',
  'gmail.com.example',
  'com',
  'de',
  'co.uk',
  'ne.jp',
  'apple.com',
  'sap.com',
  '',
])('%j is not free mail', (domain) => {
  expect(isFreeMail(domain)).toBe(false)
})
