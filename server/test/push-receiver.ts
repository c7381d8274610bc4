import { createDecipheriv, createECDH, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { importJWK, jwtVerify } from 'jose'
import { until } from './processes.ts'
import type { Call, Json } from './service.ts'

/** A message that arrived at a browser. */
export interface Pushed {
  headers: IncomingHttpHeaders
  /** As the service worker gets it. */
  message: Json
  /** What names the sender, verified. */
  claims: Json
}

/** A browser with its subscription. */
export class PushBrowser {
  readonly #pair = createECDH('prime256v1')
  readonly #auth = randomBytes(16)
  readonly path = `/push/${randomUUID()}`
  readonly #service: PushService
  readonly received: Pushed[] = []
  /** The status of each answer; 201 after the last one. */
  answers: ((response: ServerResponse) => void)[] = []

  constructor(service: PushService) {
    this.#pair.generateKeys()
    this.#service = service
  }

  get keys(): { p256dh: string; auth: string } {
    return { p256dh: this.#pair.getPublicKey().toString('base64url'), auth: this.#auth.toString('base64url') }
  }

  /** What `PushManager.subscribe()` returns. */
  get subscription(): { endpoint: string; p256dh: string; auth: string } {
    return { endpoint: `${this.#service.origin}${this.path}`, ...this.keys }
  }

  /** Decrypts as RFC 8291 and RFC 8188 describe it for the receiver. */
  decrypt(body: Buffer): string {
    const [salt, keyLength] = [body.subarray(0, 16), body.readUInt8(20)]
    const senderKey = body.subarray(21, 21 + keyLength)
    const encrypted = body.subarray(21 + keyLength)
    const derive = (key: Buffer, salted: Buffer, info: Buffer | string, bytes: number) =>
      Buffer.from(hkdfSync('sha256', key, salted, info, bytes))
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#pair.getPublicKey(), senderKey])
    const secret = derive(this.#pair.computeSecret(senderKey), this.#auth, info, 32)
    const decipher = createDecipheriv(
      'aes-128-gcm',
      derive(secret, salt, 'Content-Encoding: aes128gcm\0', 16),
      derive(secret, salt, 'Content-Encoding: nonce\0', 12),
    )
    decipher.setAuthTag(encrypted.subarray(-16))
    const padded = Buffer.concat([decipher.update(encrypted.subarray(0, -16)), decipher.final()])
    const end = padded.lastIndexOf(2)
    if (end === -1 || body.readUInt32BE(16) < encrypted.length) throw new Error('the record is not the last one')
    return padded.subarray(0, end).toString()
  }

  /** Waits for so many messages. */
  async count(count: number): Promise<Pushed[]> {
    await until(`${count} messages arrive`, () => this.received.length >= count)
    return this.received
  }

  /** What the browser shows: a later message replaces one with the same tag. */
  get shown(): Json[] {
    return [...new Map(this.received.map(({ message }) => [message.tag, message])).values()]
  }
}

export const answerWith =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response.writeHead(status, headers).end()

/** A push service on loopback, which decrypts what its browsers get. */
export class PushService {
  readonly #browsers = new Map<string, PushBrowser>()
  readonly #server: Server
  /** Public keys that senders have named. */
  readonly keys = new Set<string>()
  readonly errors: unknown[] = []

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        this.#receive(request.url ?? '', request.headers, Buffer.concat(chunks), response).catch((error: unknown) => {
          this.errors.push(error)
          response.writeHead(400).end()
        })
      })
    })
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  newBrowser(): PushBrowser {
    const browser = new PushBrowser(this)
    this.#browsers.set(browser.path, browser)
    return browser
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #receive(path: string, headers: IncomingHttpHeaders, body: Buffer, response: ServerResponse): Promise<void> {
    const browser = this.#browsers.get(path)
    if (!browser) return void response.writeHead(404).end()
    const [, token = '', key = ''] = /^vapid t=([^,]+), k=(.+)$/.exec(headers.authorization ?? '') ?? []
    this.keys.add(key)
    const point = Buffer.from(key, 'base64url')
    const [x, y] = [point.toString('base64url', 1, 33), point.toString('base64url', 33)]
    const publicKey = await importJWK({ kty: 'EC', crv: 'P-256', x, y }, 'ES256')
    const { payload } = await jwtVerify(token, publicKey, { audience: this.origin, requiredClaims: ['exp'] })
    const answer = browser.answers.shift() ?? answerWith(201)
    browser.received.push({ headers, message: JSON.parse(browser.decrypt(body)), claims: payload })
    answer(response)
  }
}

/** Subscribes a browser that nothing is sent to. Resolves to what only the browser and its push service know. */
export async function subscribeElsewhere(call: Call): Promise<{ endpoint: string; auth: string }> {
  const { auth, p256dh } = new PushService().newBrowser().keys
  const endpoint = `https://push.example.com/${randomUUID()}`
  await call('GET', '/v5/inbox/push-key')
  const added = await call('POST', '/v5/inbox/push-subscriptions', { body: { endpoint, auth, p256dh } })
  if (added.status !== 201) throw new Error(added.text)
  return { endpoint, auth }
}
