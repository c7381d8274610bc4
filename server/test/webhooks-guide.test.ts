import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../lab/shared/free-port.ts'
import { signedHeaders } from '../src/webhooks/message.ts'
import { until } from './processes.ts'
import { startTestService, type TestService } from './service.ts'
import { newContact, newWebhook, sendsToLoopback } from './webhook-fixture.ts'

// Runs the receivers of docs/guides/webhooks.md.
const guide = readFileSync(fileURLToPath(new URL('../../docs/guides/webhooks.md', import.meta.url)), 'utf8')

function codeOf(file: string): string {
  const [, code] = new RegExp(`^\`\`\`\\w+ ${file.replace('.', '\\.')}\\n(.*?)^\`\`\`$`, 'ms').exec(guide) ?? []
  if (code === undefined) throw new Error(`The guide has no ${file}`)
  return code
}

let service: TestService
let folder: string
beforeAll(async () => {
  service = await startTestService(sendsToLoopback)
  folder = mkdtempSync(join(tmpdir(), 'rapport-receivers-'))
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await service.close()
})

const receivers = [
  { file: 'receiver.mjs', program: process.execPath, args: (path: string) => [path] },
  { file: 'receiver.py', program: 'python3', args: (path: string) => [path] },
  { file: 'receiver.php', program: 'php', args: (path: string, port: number) => ['-S', `127.0.0.1:${port}`, path] },
]

const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).status === 0

test.for(receivers)(
  '$file accepts what is signed with its secret, and nothing else',
  async ({ file, program, args }, { skip }) => {
    skip(!isInstalled(program), `${program} is not installed`)
    const code = codeOf(file)
    expect(code.trim().split('\n').length).toBeLessThanOrEqual(18)
    const path = join(folder, file)
    writeFileSync(path, code)
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const { call } = await service.newOrganization()
    const { secret, id } = await newWebhook(call, { url })
    const child = spawn(program, args(path, port), {
      env: { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) },
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (printed += data.toString()))
    try {
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
      const message = { id: 'chg_1', body: '{"type": "ünsent"}' }
      const send = (headers: Record<string, string>, body = message.body) =>
        fetch(url, { method: 'POST', headers, body }).then(
          ({ status }) => status,
          () => undefined,
        )
      await until('the receiver listens', async () => (await send(signedHeaders(message, [key], Date.now()))) === 204)
      expect(await send(signedHeaders(message, [Buffer.alloc(32), key], Date.now()))).toBe(204)
      expect(await send(signedHeaders(message, [key], Date.now()), '{"type":"ünsent"}')).toBe(401)
      expect(await send(signedHeaders(message, [Buffer.alloc(32)], Date.now()))).toBe(401)
      expect(await send(signedHeaders(message, [key], Date.now() - 3_600_000))).toBe(401)
      await newContact(call)
      await until('the event is delivered', async () => {
        const { body } = await call('GET', `/v5/webhooks/${id}/deliveries?status=delivered`)
        return body.length === 1
      })
      expect(printed).toContain('contact.created')
    } finally {
      child.kill()
    }
  },
)
