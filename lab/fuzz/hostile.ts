import type { Random } from './random.ts'

/** Strings known to break programs. */
export const hostileTexts: readonly string[] = [
  ...[
    '',
    ' ',
    '\t',
    '\n',
    '\r\n',
    '\0',
    '\u0001',
    '\u007f',
    '\u0085',
    '\u00a0',
    '\u2028',
    '\u2029',
    '\ufeff',
    '\uffff',
  ],
  // Right-to-left text, joiners, lone combining marks, letters that grow when their case changes, composed emoji.
  ...[
    '\u202eadA',
    '\u200b',
    '\u200d',
    '\u0301',
    'e\u0301'.repeat(30),
    'Z\u0351\u036b\u0343'.repeat(20),
    'İ',
    'ı',
    'ß',
    'ŉ',
    'ﬃ',
    'ς',
  ],
  ...['\u{1f4a9}', '👩‍👩‍👧‍👦', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'مرحبا', 'שלום', '漢字', 'ｆｕｌｌ', '𝕬𝖉𝖆', '\u{10ffff}', 'ǅ', 'Ⅷ', '①'],
  ...[
    "'; drop table contacts; --",
    "' or '1'='1",
    '%',
    '_',
    '\\',
    '\\,',
    ',',
    ',,',
    '"',
    '`',
    '$1',
    '$$',
    '{{7*7}}',
    '${7*7}',
  ],
  ...[
    '../../etc/passwd',
    '<script>alert(1)</script>',
    '(((((((((((((((((((((((((((((a+)+)+)+',
    '|| pg_sleep(9)',
    '\\u0000',
  ],
  ...[
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'null',
    'undefined',
    'NaN',
    'true',
    '[]',
    '{}',
  ],
  ...[
    '-0',
    '+1',
    '1e400',
    '-1e400',
    '0x10',
    '1_000',
    '１',
    '9'.repeat(30),
    '-9223372036854775809',
    '2147483648',
    '0.1e-400',
  ],
  ...[
    '2026-02-30',
    '0000-00-00',
    '-1-01-01',
    '275760-09-13T00:00:00Z',
    '2026-11-21T24:00:00Z',
    '2016-12-31T23:59:60Z',
    '20261121',
  ],
  ...[
    '2026-11-21T09:30:00+25:00',
    '9999-12-31T23:59:59.999999999Z',
    '294277-01-01',
    '4714-11-24 BC',
    'infinity',
    'now',
    'epoch',
  ],
  ...[
    'a@b',
    '@',
    'a@',
    `${'a'.repeat(65)}@example.com`,
    'a@[127.0.0.1]',
    '"a b"@example.com',
    'a@ex\u00e4mple.com',
    'a@b..c',
  ],
  ...[
    'http://',
    'https://[::1]',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'http://a:b@c',
    'https://xn--',
    '//x',
    'https://ä.example',
  ],
  ...[
    '+',
    '+49',
    '+0',
    `+${'1'.repeat(40)}`,
    '0049 30',
    '+1 (555) 010-0000 ext. 5',
    'Mars/Olympus',
    'europe/berlin',
    'Etc/GMT+14',
    'XX',
    'uk',
    'EN',
  ],
  ...[
    'customProperties.a.b',
    'company.name',
    'customProperties.',
    '.',
    '../..',
    'a.b.c.d.e',
    'id',
    'org_x',
    'con_',
    'cur_',
  ],
]

/** A hostile, long or random text. */
export function hostileText(random: Random): string {
  if (random.chance(80)) return random.pick(hostileTexts)
  if (random.chance(60)) {
    const unit = random.pick(['x', ' ', 'ß', '漢', '\u{1f4a9}', 'e\u0301', ',', '%', '.', '-'])
    return unit.repeat(random.pick([63, 64, 65, 199, 200, 201, 255, 256, 320, 500, 1000, 2048, 3000]))
  }
  // No lone surrogates: JSON escapes are the only way to send them.
  const points = Array.from({ length: 1 + random.below(20) }, () =>
    random.pick([0x80, 0x800, 0x2000, 0xd800, 0x10ffff]),
  )
  return String.fromCodePoint(...points.map((limit) => random.below(limit)))
}

/** JSON texts of values; some have no equivalent in JavaScript. */
export const hostileScalars: readonly string[] = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '-0',
    '-0.0',
    '1',
    '-1',
    '0.1',
    '1.5',
    '1e0',
    '1E+2',
    '1e-7',
    '1e400',
    '-1e400',
    '1e-400',
    '5e-324',
  ],
  ...[
    '2147483647',
    '2147483648',
    '-2147483649',
    '9007199254740991',
    '9007199254740993',
    '9223372036854775808',
    '1e19',
    '1e308',
  ],
  ...[
    '1'.repeat(400),
    `0.${'1'.repeat(400)}`,
    '0.1000000000000000055511151231257827',
    '123456789012345678901234567890.5',
  ],
  ...[
    '""',
    '" "',
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"a\\ud83d"',
    '"\\ud83d\\ude00"',
    '"\\u0041"',
    '"\\/"',
    '"\\uFFFF"',
  ],
  ...[
    '[]',
    '{}',
    '[[]]',
    '[null]',
    '[[[[[[]]]]]]',
    '{"a":{"a":{"a":1}}}',
    '[1,"a",true,null]',
    '["a","a"]',
    '[""]',
    '{"":1}',
  ],
  ...[
    '{"__proto__":{"a":1}}',
    '{"constructor":{"prototype":{}}}',
    '{"toJSON":1}',
    '{"a.b":1}',
    '{"$ref":"#"}',
    '{"length":9}',
  ],
]

/** Invalid JSON for a value. */
export const brokenScalars: readonly string[] = [
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    'undefined',
    "'a'",
    '"a',
    '01',
    '.5',
    '1.',
    '+1',
    '1e',
    '0x1',
    '--1',
    'tru',
    'nul',
    '',
  ],
  ...[
    '"\\x41"',
    '"\\u12"',
    '"\t"',
    '"\n"',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    '[',
    '{',
    ']',
    '}',
    '/**/1',
    '1//',
    '"a" "b"',
    '\u2028',
  ],
]

/** A value with this many levels. */
export function nested(levels: number, random: Random): string {
  if (random.chance(50)) return '['.repeat(levels) + ']'.repeat(levels)
  if (random.chance(50)) return '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
  // Never closed.
  return random.pick(['[', '{"a":', '[{"a":']).repeat(levels)
}

/** Percent-encodes a text; a lone surrogate becomes U+FFFD. */
export const percentEncode = (text: string): string => encodeURIComponent(Buffer.from(text).toString())
