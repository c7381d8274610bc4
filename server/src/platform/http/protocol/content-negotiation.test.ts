import fc from 'fast-check'
import { expect, test } from 'vitest'
import { processorTime } from '../../../../test/processor-time.ts'
import { ApiError } from '../../model/errors.ts'
import { acceptsJson, negotiateContent, parseMediaType } from './content-negotiation.ts'

const json = ['application/json']
const plain = {
  contentType: 'application/json',
  contentEncoding: undefined,
  accept: undefined,
  method: 'POST',
  allowed: json,
}

function refusal(change: Partial<Parameters<typeof negotiateContent>[0]>): ApiError | undefined {
  try {
    negotiateContent({ ...plain, ...change })
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  return undefined
}

test.each([
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json ; charset="utf-8" ; profile="a;b,\\"c"',
  'application/json; charset=utf8',
  'application/json; charset="UTF8"',
  "application/json; charset='utf-8'",
  'application/json; charset=US-ASCII',
  'application/json; charset=unicode-1-1-utf-8',
  'application/json;',
  ' application/json ',
])('the Content-Type %j is accepted', (contentType) => {
  expect(refusal({ contentType })).toBeUndefined()
})

test.each([
  undefined,
  '',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/jsonx',
  'application',
  'application/json/x',
  'application/json, text/plain',
  'application/json; charset=iso-8859-1',
  'application/json; charset="utf-16"',
  'application/json; charset=utf-7',
  'application/json; charset',
  'application/json charset=utf-8',
  'application/json; charset="utf-8',
])('the Content-Type %j is rejected with the supported type', (contentType) => {
  const error = refusal({ contentType })
  expect(error?.code).toBe('unsupported_media_type')
  expect(error?.headers).toEqual({ accept: 'application/json' })
})

test('a route can accept several media types, and its error lists them', () => {
  const allowed = ['application/json', 'application/merge-patch+json']
  expect(refusal({ method: 'PATCH', allowed, contentType: 'application/merge-patch+json' })).toBeUndefined()
  const error = refusal({ method: 'PATCH', allowed, contentType: 'application/json-patch+json' })
  expect(error?.description).toContain('application/json or application/merge-patch+json')
  expect(error?.headers['accept']).toBe('application/json, application/merge-patch+json')
})

test('methods and routes without a body do not check the media type', () => {
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
    expect(refusal({ method, contentType: undefined, contentEncoding: 'gzip' })).toBeUndefined()
  }
  expect(refusal({ allowed: [], contentType: undefined })).toBeUndefined()
})

test('compressed bodies are rejected, identity is not', () => {
  for (const contentEncoding of [undefined, '', 'identity', 'Identity', 'identity, identity']) {
    expect(refusal({ contentEncoding })).toBeUndefined()
  }
  for (const contentEncoding of ['gzip', 'br', 'identity, gzip', 'aws-chunked']) {
    const error = refusal({ contentEncoding })
    expect(error?.code).toBe('unsupported_media_type')
    expect(error?.headers).toEqual({ 'accept-encoding': 'identity' })
  }
  expect(refusal({ contentEncoding: 'gzip', allowed: [] })?.status).toBe(415)
})

test.each([
  '',
  '*/*',
  'application/json',
  'APPLICATION/JSON',
  'application/*',
  'application/json;charset=utf-8',
  'text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8',
  'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2',
  'text/html, application/json;q=0.001',
  'application/*;q=0, application/json',
  '*/*;q=0, application/*',
  'garbage, application/json',
  'a/b;c="x,y", application/json',
  ',application/json,',
])('Accept %j allows JSON', (accept) => {
  expect(acceptsJson(accept)).toBe(true)
  expect(refusal({ accept })).toBeUndefined()
})

test.each([
  'text/html',
  'text/*, image/png',
  'application/xml',
  'application/problem+json',
  'application/json;q=0',
  'application/json; q=0.000',
  'application/json;q=0, */*',
  'application/*;q=0, */*',
  '*/*;q=0',
  'garbage',
  'text/html;x="application/json, */*"',
  'application/json/x',
])('Accept %j excludes JSON', (accept) => {
  expect(acceptsJson(accept)).toBe(false)
  expect(refusal({ accept })?.code).toBe('not_acceptable')
  expect(refusal({ accept, method: 'GET' })?.status).toBe(406)
})

test('the order of media ranges changes nothing', () => {
  const type = fc.constantFrom('*/*', 'application/*', 'application/json', 'text/html')
  const range = fc.tuple(type, fc.constantFrom('', ';q=0', ';q=0.5')).map((parts) => parts.join(''))
  const orders = fc
    .array(range, { minLength: 1 })
    .chain((ranges) =>
      fc.tuple(
        fc.constant(ranges),
        fc.shuffledSubarray(ranges, { minLength: ranges.length, maxLength: ranges.length }),
      ),
    )
  fc.assert(
    fc.property(orders, ([ranges, shuffled]) => {
      expect(acceptsJson(shuffled.join(', '))).toBe(acceptsJson(ranges.join(',')))
    }),
  )
})

test('a media type is parsed with its character set', () => {
  expect(parseMediaType('Application/LD+json; Charset="UTF-8"')).toEqual({
    essence: 'application/ld+json',
    charset: 'utf-8',
  })
  expect(parseMediaType('text/csv')).toEqual({ essence: 'text/csv', charset: undefined })
  expect(parseMediaType('text/csv; charset')).toBeUndefined()
})

test('a header of 16 KiB is parsed quickly', () => {
  const took = processorTime(() => {
    for (const piece of ['a/b;', 'a/b,', ';', ' ', 'a', 'a/b;c="\\', 'application/json;q=', '"\\"']) {
      const header = piece.repeat(16384 / piece.length)
      acceptsJson(header)
      acceptsJson(`a/b;c="${header}`)
      parseMediaType(`a/b;${header}`)
    }
  })
  expect(took).toBeLessThan(500)
})
