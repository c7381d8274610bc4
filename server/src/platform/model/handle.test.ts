import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bareHandle } from './handle.ts'

test.each([
  ['ada', 'ada'],
  ['@ada', 'ada'],
  [' ada ', 'ada'],
  ['ada.lovelace-1815_', 'ada.lovelace-1815_'],
  ['_', '_'],
  ['ada?lang=en', 'ada'],
  ['ada/', 'ada'],
  ['https://www.linkedin.com/in/ada-lovelace/', 'ada-lovelace'],
  ['https://www.linkedin.com/in/ada-lovelace/de?trk=public-profile', 'ada-lovelace'],
  ['http://de.linkedin.com/in/ada', 'ada'],
  ['linkedin.com/IN/ada', 'ada'],
  ['//linkedin.com/in/ada', 'ada'],
  ['https://www.linkedin.com/company/acme', 'acme'],
  ['https://www.linkedin.com/school/mit/about/', 'mit'],
  ['https://www.linkedin.com/in/ren%C3%A9-m%C3%BCller/', 'rené-müller'],
  ['https://www.linkedin.com/in/rene%CC%81', 'ren\u00e9'],
  ['https://www.linkedin.com/in/%E0%A4%85%E0%A4%A8%E0%A5%81', 'अनु'],
  ['ren%C3%A9', 'rené'],
  ['in/ada', 'ada'],
  ['company/acme', 'acme'],
  ['https://twitter.com/ada?lang=en', 'ada'],
  ['https://twitter.com/#!/ada', 'ada'],
  ['https://twitter.com/ada/status/20', 'ada'],
  ['x.com/ada', 'ada'],
  ['https://X.com/@ada', 'ada'],
  ['HTTPS://MOBILE.TWITTER.COM/Ada', 'Ada'],
  ['https://github.com/ada?tab=repositories', 'ada'],
  ['https://github.com/ada/engine', 'ada'],
  ['https://github.com/orgs/acme/people', 'acme'],
  ['https://www.instagram.com/ada/', 'ada'],
  ['instagram.com/acme.inc', 'acme.inc'],
  ['https://www.facebook.com/ada.lovelace/', 'ada.lovelace'],
  ['https://en-gb.facebook.com/ada', 'ada'],
  ['https://m.facebook.com/ada#photos', 'ada'],
  ['https://www.facebook.com/pg/acme/about', 'acme'],
  ['fb.com/acme', 'acme'],
])('%j contains the handle %j', (value, handle) => {
  expect(bareHandle(value)).toBe(handle)
})

test.each([
  '',
  ' ',
  '@',
  '.',
  '..',
  'two words',
  'line\nbreak',
  '@ada@example.social',
  'x'.repeat(101),
  'ren%C3',
  'ada%2Flovelace',
  'ada/lovelace',
  'x.com',
  'https://x.com',
  'https://x.com/',
  'www.linkedin.com',
  'docs.github.com',
  'profile.php',
  'https://facebook.com/profile.php?id=100',
  'https://www.facebook.com/people/Ada-Lovelace/100',
  'https://www.facebook.com/groups/engines',
  'https://www.linkedin.com/ada',
  'https://www.linkedin.com/in/',
  'https://www.linkedin.com/sales/lead/ada',
  'https://www.linkedin.com/posts/ada_engine',
  'https://twitter.com/intent/user?screen_name=ada',
  'https://twitter.com/i/user/12',
  'https://x.com/search?q=ada',
  'https://github.com/features',
  'https://docs.github.com/en',
  'https://instagram.com/p/B1',
  'https://instagram.com/stories/ada',
  'https://github.com/x.com',
  'https://example.com/ada',
  'https://notx.com/ada',
  'https://x.com.example/ada',
  'https://github.com@example.com/ada',
  'https://github.com:ada',
  'ftp://github.com/ada',
  'javascript:alert(1)',
])('%j contains no handle', (value) => {
  expect(bareHandle(value)).toBeUndefined()
})

test('a normalized handle stays the same when normalized again', () => {
  const part = fc.oneof(
    fc.constantFrom('https://', '//', 'www.', 'm.', 'x.com', 'facebook.com', 'linkedin.com', '/', '/in/', '@', '%2F'),
    fc.constantFrom('.', '..', '.php', '?', '#!/', '%40', '%', 'ada', 'company/', 'in', '%C3%A9', 'e\u0301', '-'),
    fc.string({ unit: 'grapheme', maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const handle = bareHandle(parts.join(''))
      if (handle !== undefined) expect(bareHandle(handle)).toBe(handle)
    }),
    { numRuns: 5000 },
  )
})
