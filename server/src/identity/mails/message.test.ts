import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeHtml } from '../../platform/http/pages/escape-html.ts'
import { renderBody, sanitizeName } from './message.ts'

/** Text that an attacker could choose: anything, including syntax of HTML, mail and URLs. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom('<a href="', '</p>', '">', "'", '&lt;', '&#60;', 'http://', 'https://evil.example', '<script>'),
      fc.constantFrom(
        '\r\n',
        '\n',
        '\r\nBcc: a@b.c',
        '\u2028',
        '\u0000',
        '\u202e',
        '\u200b',
        'www.evil.example',
        '@evil',
      ),
      fc.constantFrom('javascript:', 'evil。example', 'evil．example', 'ｈttp://', '\ud800', '\\\\evil\\share'),
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''))

const unescape = (html: string): string =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

test('escaped text contains no HTML syntax and unescapes to the original', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const escaped = escapeHtml(text)
      expect(escaped).not.toMatch(/[<>"']|&(?!(?:amp|lt|gt|quot|#39);)/)
      expect(unescape(escaped)).toBe(text)
    }),
    { numRuns: 2000 },
  )
})

test('the contents of a mail cannot add elements or links to its HTML', () => {
  fc.assert(
    fc.property(hostile, hostile, (text, label) => {
      const url = 'https://crm.example.com/account#invitation=ott_abc'
      const markup = (said: string, named: string) =>
        renderBody({ language: 'en', subject: 's', parts: [said, { label: named, url }] }).html.match(/<[^>]*>/g)
      expect(markup(text, label)).toEqual(markup('text', 'label'))
    }),
    { numRuns: 2000 },
  )
})

// What mail programs turn into links: a scheme, `www.`, a host name with a dot, an address.
const linkLike = /[^\s]:\/\/|[^\s]\/\/|\bwww\.[^\s]|[^\s][.。．｡][^\s]|[^\s]@[^\s]|[a-z]:[^\s]/iu

test('a sanitized name is one short line without control characters or links', () => {
  fc.assert(
    fc.property(hostile, (name) => {
      const line = sanitizeName(name)
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      expect(line.replace(/…$/, '')).not.toMatch(linkLike)
      expect([...line].length).toBeLessThanOrEqual(60)
      expect(line).toBe(line.trim())
    }),
    { numRuns: 5000 },
  )
})

test.each([
  ['Ada Lovelace', 'Ada Lovelace'],
  ['Łukasz Müller-Šćepanović', 'Łukasz Müller-Šćepanović'],
  ['山田太郎', '山田太郎'],
  ['A.C.M.E. Ltd.', 'A. C. M. E. Ltd.'],
  ['Your invoice: https://evil.example/pay', 'Your invoice: https: / / evil. example/ pay'],
  ['Ada\r\nBcc: everyone@example.com', 'Ada Bcc: everyone@ example. com'],
  ['x'.repeat(200), `${'x'.repeat(59)}…`],
  ['  ', ''],
])('the name %j is sanitized to %j', (name, line) => {
  expect(sanitizeName(name)).toBe(line)
})

test('the plain text has each paragraph and each link on a separate line', () => {
  const url = 'https://crm.example.com/account#sign-up=ott_abc'
  const body = renderBody({ language: 'en', subject: 's', parts: ['First.', { label: 'Go on', url }, 'Last.'] })
  expect(body.text).toBe(`First.\n\nGo on:\n${url}\n\nLast.\n`)
  expect(body.links).toEqual([url])
  expect(body.html).not.toMatch(/<img|<script|<link|src=|@import|url\(/)
})
