import { setTimeout } from 'node:timers/promises'
import type { Account } from '../shared/service.ts'

/** A response. Status 0: no response. Status -1: the connection was refused, so nothing can have happened. */
export interface Reply {
  status: number
  headers: Headers
  body: unknown
  /** `performance.now()` when it was sent. */
  sentAt: number
  milliseconds: number
}

/** A request that can be repeated unchanged. */
export interface Request {
  method: string
  path: string
  body?: object
  key?: string
}

/** Milliseconds after which a request counts as hanging. */
const timeout = 15_000

/** How often a read is sent, and the milliseconds between. */
const [readAttempts, retryDelay] = [10, 500]

export class Client {
  /** Complete responses with invalid JSON, with their requests. */
  readonly invalidJson: string[] = []
  readonly #url: string
  readonly #headers: Record<string, string>

  constructor(url: string, { apiKey, organizationId }: Pick<Account, 'apiKey' | 'organizationId'>) {
    this.#url = url
    this.#headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId }
  }

  async send({ method, path, body, key }: Request): Promise<Reply> {
    const sentAt = performance.now()
    const ended = () => ({ sentAt, milliseconds: performance.now() - sentAt })
    try {
      const response = await fetch(`${this.#url}${path}`, {
        method,
        headers: {
          ...this.#headers,
          ...(body && { 'content-type': 'application/json' }),
          ...(key !== undefined && { 'idempotency-key': key }),
        },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeout),
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        body:
          response.status === 204 && text === ''
            ? undefined
            : this.#parsed(text, `${method} ${path}: ${response.status}`),
        ...ended(),
      }
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
      return { status: code === 'ECONNREFUSED' ? -1 : 0, headers: new Headers(), body: undefined, ...ended() }
    }
  }

  /** A response with an invalid body is not a lost response: its status counts. */
  #parsed(text: string, what: string): unknown {
    try {
      return JSON.parse(text)
    } catch {
      this.invalidJson.push(`${what} ${JSON.stringify(text.slice(0, 200))}`)
      return undefined
    }
  }

  /** Repeats a read that the service refused for a moment (503). Errors: any other status but 200. */
  async read<Body>(path: string): Promise<Body> {
    let { status, body } = await this.send({ method: 'GET', path })
    for (let attempt = 1; status === 503 && attempt < readAttempts; attempt++) {
      await setTimeout(retryDelay)
      ;({ status, body } = await this.send({ method: 'GET', path }))
    }
    if (status !== 200) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`)
    return body as Body
  }

  /** Reads all records of a collection, page by page. */
  async all<Item extends { id: string }>(path: string, fields: readonly string[]): Promise<Item[]> {
    const items: Item[] = []
    for (let after = ''; ;) {
      const selected = fields.map((field) => `&select[]=${field}`).join('')
      const page = await this.read<Item[]>(`${path}?limit=100${selected}${after}`)
      items.push(...page)
      const last = page.at(-1)
      if (page.length < 100 || !last) return items
      after = `&startingAfter=${last.id}`
    }
  }
}
