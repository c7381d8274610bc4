import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { parseConfig } from '../../config.ts'
import { connect } from './connect.ts'

const read =
  (url: string, PLAINTEXT_HOSTS = '') =>
  () =>
    parseConfig({ DATABASE_URL: url, PLAINTEXT_HOSTS })

test.each([
  'postgres://u:secret@db.example.com/rapport',
  'postgres://u:secret@10.0.0.5:6432/rapport',
  'postgres://u:secret@[fd00::5]/rapport',
  'postgres://u:secret@db.example.com/rapport?sslmode=disable',
  'postgres://u:secret@db.example.com/rapport?ssl=0',
  'postgres://u:secret@localhost/rapport?host=db.example.com',
])('%s is rejected, because it would cross a network without TLS', (url) => {
  expect(read(url)).toThrow(/DATABASE_URL connects to \S+ without TLS: add sslmode=verify-full, .*PLAINTEXT_HOSTS/)
  expect(read(url)).not.toThrow(/secret/)
})

test.each([
  ['postgres://u@db.example.com/rapport?sslmode=verify-full', ''],
  ['postgres://u@db.example.com/rapport?sslmode=require', ''],
  ['postgres://u@db.example.com/rapport?sslmode=no-verify', ''],
  ['postgres://u@127.0.0.1/rapport', ''],
  ['postgres://u@localhost/rapport', ''],
  ['postgres://u@[::1]/rapport', ''],
  ['postgres://u@/rapport?host=%2Fvar%2Frun%2Fpostgresql', ''],
  ['postgres://u@db.internal/rapport', 'db.internal'],
  ['postgres://u@10.0.0.5:6432/rapport', '10.0.0.0/8'],
])('%s is accepted with PLAINTEXT_HOSTS=%s', (url, hosts) => {
  expect(read(url, hosts)).not.toThrow()
})

test('with any sslmode, a server without TLS receives only the TLS request, and there is no fallback', async () => {
  for (const mode of ['require', 'prefer', 'verify-full', 'no-verify']) {
    const received: Buffer[] = []
    const server = createServer((socket) => {
      socket
        .on('error', () => undefined)
        .on('data', (bytes: Buffer) => {
          received.push(bytes)
          socket.write('N')
        })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const connectionString = `postgres://u:secret@127.0.0.1:${port}/rapport?sslmode=${mode}`
    await expect(connect({ connectionString }), mode).rejects.toThrow(/does not support SSL/)
    server.close()
    // The request for TLS: its length and code (PostgreSQL, section 54.7).
    expect(Buffer.concat(received).toString('hex'), mode).toBe('0000000804d2162f')
  }
})
