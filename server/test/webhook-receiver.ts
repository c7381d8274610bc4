import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { until } from './processes.ts'
import type { Json } from './service.ts'

/** A request that a receiver got. */
export interface Received {
  at: number
  path: string
  id: string
  headers: IncomingHttpHeaders
  text: string
  body: Json
}

/** Answers a request; by default with 204. */
export type Answer = (response: ServerResponse, received: Received) => void

/** A receiver of webhooks on loopback. */
export class Receiver {
  readonly received: Received[] = []
  answer: Answer = (response) => void response.writeHead(204).end()
  /** The most requests that were in progress at once. */
  mostAtOnce = 0
  atOnce = 0
  readonly #server: Server

  constructor() {
    this.#server = createServer((request, response) => {
      this.atOnce += 1
      this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce)
      response.once('close', () => (this.atOnce -= 1))
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const { headers, url = '' } = request
        const received = {
          at: Date.now(),
          path: url,
          id: String(headers['webhook-id']),
          headers,
          text,
          body: JSON.parse(text),
        }
        this.received.push(received)
        this.answer(response, received)
      })
    })
  }

  async open(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hooks`
  }

  get types(): string[] {
    return this.received.map(({ body }) => body.type)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Waits for so many requests. */
  async count(count: number): Promise<Received[]> {
    await until(`${count} requests arrive`, () => this.received.length >= count)
    return this.received
  }
}

/** Verifies a request as another program would, with the library of Standard Webhooks. */
export const verify = (secret: string, { text, headers }: Received): unknown =>
  new Webhook(secret).verify(text, headers as Record<string, string>)

export const answerWith =
  (status: number, headers: Record<string, string> = {}, text = ''): Answer =>
  (response) =>
    void response.writeHead(status, headers).end(text)
