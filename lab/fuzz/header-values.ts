import type { Framing } from './draft.ts'

// Values for changed headers, separated by `¦`, which no value contains.
const listed = (...lines: string[]): string[] => lines.flatMap((line) => line.split('¦'))

export const contentTypes = listed(
  '¦text/plain¦application/x-www-form-urlencoded¦multipart/form-data; boundary=x¦application/xml¦json¦*/*¦/¦;¦a/b/c',
  'application/JSON; charset="UTF-8"¦application/json; charset=latin1¦application/json;¦application/json, text/plain',
  'application/vnd.api+json¦application/merge-patch+json¦application/json-patch+json',
)

export const accepted = listed(
  '*/*¦text/html¦application/json;q=0¦application/*;q=0.5¦application/json;q=nine¦*/*;q=0, application/json¦¦*¦a¦"',
  'text/html, application/json;q=0.1¦,,,¦application/json; version="a,b"',
  `${'text/a,'.repeat(500)}*/*`,
)

export const encodings = listed(
  'gzip¦br¦gzip, br¦gzip;q=0¦identity;q=0¦*;q=0¦*¦deflate¦zstd¦br;q=1.0, gzip;q=0.8, *;q=0.1',
  '¦,¦gzip;q=¦GZIP¦br;q=2¦x-gzip',
  `${'a,'.repeat(1000)}gzip`,
)

export const tags = listed(
  '*¦"1-AAAAAAAAAAAAAAAA"¦W/"AAAAAAAAAAAAAAAA"¦"1-"¦""¦"¦W/¦abc¦"a", "b"¦*, "a"¦,¦¦"a" "b"¦"ä"',
  '"1-AAAAAAAAAAAAAAAA", "2-AAAAAAAAAAAAAAAA"¦"99999999999999999999-AAAAAAAAAAAAAAAA"',
  `${'"1-AAAAAAAAAAAAAAAA", '.repeat(300)}"x"`,
)

export const idempotencyKeys = listed('key-1¦key-2¦key-3¦¦ ¦a b¦ä¦"key"¦a,b', 'x'.repeat(255), 'x'.repeat(256))

export const origins = listed(
  'https://app.example.com¦https://elsewhere.example¦null¦https://app.example.com.elsewhere.example',
)

export const otherHeaders = listed(
  'Range¦X-HTTP-Method-Override¦X-Forwarded-For¦X-Forwarded-Host¦Forwarded¦Content-Encoding¦Date¦If-Modified-Since',
  'If-Unmodified-Since¦If-Range¦Expect¦X-Request-Id¦Cookie¦TE¦Accept-Charset¦Accept-Language¦Prefer¦Upgrade',
  'Connection¦Trailer¦Host¦Max-Forwards¦X-Original-URL¦Referer',
)

export const otherValues = listed(
  'bytes=0-1¦DELETE¦127.0.0.1¦gzip¦identity¦100-continue¦Sat, 21 Nov 2026 09:30:00 GMT¦return=minimal¦for=127.0.0.1',
  'websocket¦h2c¦close¦keep-alive¦trailers¦utf-8¦de¦a, b¦/v5/me¦elsewhere.example',
)

export const versions = listed('HTTP/1.0¦HTTP/2.0¦HTTP/9.9¦HTTP/0.9¦HTTP/1.1 ¦http/1.1¦¦RTSP/1.0¦HTTP/1.2')

/** Lines without a colon, continuation lines, invalid names, and invalid lengths and encodings. */
export const brokenLines = listed(
  'no colon¦ folded: a¦\tfolded¦: no name¦a b: c¦A : b¦A\0: b¦A: \0¦A: \u0001¦A: b\rc¦ä: b¦(): a',
  'Content-Length: -1¦Content-Length: 1e3¦Content-Length: 99999999999999999999¦Content-Length: 2097152¦Content-Length: a',
  'Transfer-Encoding: gzip, chunked¦Transfer-Encoding: identity¦Transfer-Encoding: chunked, chunked',
  'Host: a, b¦Host:¦Host: [¦Host: a b',
)

/** Number of headers, and characters of each. */
export const manyOrLong = [
  [1, 15_000],
  [1, 17_000],
  [1, 50_000],
  [1, 70_000],
  [200, 10],
  [1500, 1],
  [2500, 1],
] as const

export const framings: readonly Framing[] = [
  ...(['none', 'length', 'chunked', 'too long', 'too short', 'both', 'bad chunk', 'two lengths'] as const),
]
