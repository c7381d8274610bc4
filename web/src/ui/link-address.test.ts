import { expect, test } from 'vitest'
import { domainLink, mailLink, phoneLink } from './link-address.ts'
import { partsOf } from './markdown-inline.ts'

test.each([
  ['ada@example.com', 'mailto:ada@example.com'],
  ['ada+news@example.com', 'mailto:ada%2Bnews@example.com'],
  ['ada@example.com?bcc=eve@evil.example', 'mailto:ada%40example.com%3Fbcc%3Deve@evil.example'],
  ['ada?bcc=eve&body=x@example.com', 'mailto:ada%3Fbcc%3Deve%26body%3Dx@example.com'],
  ['ada@example.com,eve@evil.example', 'mailto:ada%40example.com%2Ceve@evil.example'],
  ['ada%3Fcc=eve@example.com', 'mailto:ada%253Fcc%3Deve@example.com'],
  ['jörg@müller.example', 'mailto:j%C3%B6rg@m%C3%BCller.example'],
  ['nobody?subject=x', 'mailto:nobody%3Fsubject%3Dx'],
])('a mail to %s has no other recipient and no header', (email, href) => {
  expect(mailLink(email)).toBe(href)
  const { pathname, search } = new URL(href)
  expect(search).toBe('')
  expect(decodeURIComponent(pathname)).toBe(email)
})

test('numbers and domains are encoded, too', () => {
  expect(phoneLink('+4930123456')).toBe('tel:+4930123456')
  expect(phoneLink('+49;phone-context=evil?x')).toBe('tel:+49%3Bphone-context%3Devil%3Fx')
  expect(domainLink('engines.example')).toBe('https://engines.example')
  expect(new URL(domainLink('müller.example')).host).toBe('xn--mller-kva.example')
  expect(() => new URL(domainLink('engines.example/path'))).toThrow()
})

test('a mail link in a note has a single recipient and no headers', () => {
  const hrefs = (text: string) => partsOf(text).flatMap((part) => (part.type === 'link' ? part.href : []))
  expect(hrefs('[Ada](mailto:ada@example.com?bcc=eve@evil.example)')).toEqual(['mailto:ada@example.com'])
  expect(hrefs('[Ada](MAILTO:ada@example.com,eve@evil.example)')).toEqual(['MAILTO:ada@example.com'])
  expect(hrefs('[Ada](mailto:ada@example.com)')).toEqual(['mailto:ada@example.com'])
  expect(hrefs('[page](https://example.com/?a=1,2;3)')).toEqual(['https://example.com/?a=1,2;3'])
})
