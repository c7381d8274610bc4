import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openRaw, requestText } from '../../../../test/raw-http.ts'
import { startTestService, type TestService } from '../../../../test/service.ts'
import { chooseCoding } from './fixed-text.ts'

const compressors = ['brotliCompress', 'brotliCompressSync', 'createBrotliCompress'] as const
const gzipCompressors = ['gzip', 'gzipSync', 'createGzip'] as const

let service: TestService
const compressed: string[] = []
beforeAll(async () => {
  for (const name of [...compressors, ...gzipCompressors]) {
    const original = zlib[name] as (...given: unknown[]) => unknown
    vi.spyOn(zlib, name).mockImplementation(((...given: unknown[]) => {
      compressed.push(name)
      return original(...given)
    }) as never)
  }
  syncBuiltinESMExports()
  service = await startTestService()
})
afterAll(async () => {
  await service.close()
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

/** The undecoded response. */
async function rawGet(path: string, encoding: string) {
  const connection = await openRaw(service.url)
  connection.write(
    requestText('GET', path, {
      headers: { accept: 'text/html, */*;q=0.8', connection: 'close', 'accept-encoding': encoding },
    }),
  )
  await connection.closed
  const bytes = connection.bytes()
  const end = bytes.indexOf('\r\n\r\n')
  return { head: bytes.subarray(0, end).toString(), body: bytes.subarray(end + 4) }
}

test.each([
  '/v5/docs',
  '/v5/swagger',
  '/v5/swagger/swagger-ui.css',
  '/v5/swagger/swagger-ui-bundle.js',
  '/v5/swagger/start.js',
  '/docs',
  '/docs/guides/api.md',
  '/docs/security.md',
  '/login',
])('%s is compressed once per coding, however often it is requested', async (path) => {
  const plain = await rawGet(path, 'identity')
  expect(plain.head).toMatch(/^HTTP\/1\.1 200/)
  expect(plain.head).not.toMatch(/^content-encoding/im)
  const isLong = plain.body.length >= 1024
  for (const [coding, decode, name] of [
    ['br', zlib.brotliDecompressSync, 'brotliCompress'],
    ['gzip', zlib.gunzipSync, 'gzip'],
  ] as const) {
    compressed.length = 0
    const answers = await Promise.all([1, 2, 3].map(() => rawGet(path, coding)))
    answers.push(await rawGet(path, coding))
    // Not at all, if another file of this worker has requested it.
    expect([[], ...(isLong ? [[name]] : [])], path).toContainEqual(compressed)
    for (const { head, body } of answers) {
      expect(head.match(/^vary: .*accept-encoding/im), path).not.toBeNull()
      expect(/^content-encoding: (\w+)/im.exec(head)?.[1]).toBe(isLong ? coding : undefined)
      expect((isLong ? decode(body) : body).equals(plain.body)).toBe(true)
    }
  }
})

test('the coding is the first that the request accepts', () => {
  const both = ['br', 'gzip'] as const
  expect(chooseCoding('gzip, deflate, br', both)).toBe('br')
  expect(chooseCoding('br;q=0, gzip', both)).toBe('gzip')
  expect(chooseCoding('GZIP;q=0.5', both)).toBe('gzip')
  expect(chooseCoding('*', both)).toBe('br')
  expect(chooseCoding('br;q=0, *', both)).toBe('gzip')
  expect(chooseCoding('*;q=0', both)).toBeUndefined()
  expect(chooseCoding('', both)).toBeUndefined()
  expect(chooseCoding('br', ['gzip'])).toBeUndefined()
})
