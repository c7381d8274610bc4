import { Agent, type ClientRequestArgs } from 'node:http'
import { Agent as TlsAgent, type RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'

/** Milliseconds without a request. Servers usually wait longer: the shortest usual time is two seconds. */
const maxIdle = 1000
/** So that a busy connection does not outlive the receiver's certificate. */
const maxAge = 60_000
/** A burst of requests to a host uses the addresses that its first one has checked. */
const addressTtl = 1000
const maxOrigins = 1000

interface Grouped {
  group?: string
}

/**
 * Connections that stay open for the next request of the same group to the same host, if its checked addresses are the same.
 * Groups share none: a receiver could otherwise send the answer to the next request of somebody else.
 */
export class KeptConnections {
  readonly #plain: KeptAgent
  readonly #encrypted: KeptTlsAgent
  readonly #addresses = new Map<string, { found: readonly string[]; until: number }>()

  constructor(max: number) {
    this.#plain = new KeptAgent(max)
    this.#encrypted = new KeptTlsAgent(max)
  }

  optionsFor(protocol: string, group: string, addresses: readonly string[]): Grouped & { agent: Agent } {
    const agent = protocol === 'https:' ? this.#encrypted : this.#plain
    return { agent, group: `${group} ${addresses.toSorted().join(' ')}` }
  }

  /** The addresses of an origin as they were checked a moment ago, otherwise as `check` resolves them. */
  async addressesOf(origin: string, check: () => Promise<readonly string[]>): Promise<readonly string[]> {
    const now = performance.now()
    const recent = this.#addresses.get(origin)
    if (recent && recent.until > now) return recent.found
    const found = await check()
    if (this.#addresses.size >= maxOrigins) this.#addresses.clear()
    this.#addresses.set(origin, { found, until: now + addressTtl })
    return found
  }

  close(): void {
    this.#plain.destroy()
    this.#encrypted.destroy()
  }
}

const agentOptions = { keepAlive: true, timeout: maxIdle }

class KeptAgent extends Agent {
  readonly #limit: KeepingLimit

  constructor(max: number) {
    super(agentOptions)
    this.#limit = new KeepingLimit(max)
  }

  override getName(options?: ClientRequestArgs & Grouped): string {
    return `${super.getName(options)} ${options?.group}`
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return this.#limit.allows(socket, this.freeSockets) && isKept(super.keepSocketAlive(socket))
  }
}

class KeptTlsAgent extends TlsAgent {
  readonly #limit: KeepingLimit

  constructor(max: number) {
    super(agentOptions)
    this.#limit = new KeepingLimit(max)
  }

  override getName(options?: RequestOptions & Grouped): string {
    return `${super.getName(options)} ${options?.group}`
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return this.#limit.allows(socket, this.freeSockets) && isKept(super.keepSocketAlive(socket))
  }
}

/** Node.js returns false if the server has announced that it will close the connection soon; its types do not say so. */
const isKept = (returned: unknown): boolean => returned !== false

class KeepingLimit {
  readonly #max: number
  readonly #since = new WeakMap<Duplex, number>()

  constructor(max: number) {
    this.#max = max
  }

  allows(socket: Duplex, free: Agent['freeSockets']): boolean {
    const now = performance.now()
    const since = this.#since.get(socket) ?? now
    this.#since.set(socket, since)
    const count = Object.values(free).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0)
    return count < this.#max && now - since < maxAge
  }
}
