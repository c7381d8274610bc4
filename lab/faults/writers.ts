import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Reply, Request } from './client.ts'
import type { KnownContact, KnownPush, OpenChange, Repetition } from './ledger.ts'
import { eachTogether, oneOf, type Run } from './scenario.ts'

export interface WriterOptions {
  client: Client
  triggerPath: string
  run: Pick<Run, 'rest' | 'breath' | 'random'>
}

/** A contact's creation as it went; none is known where it was refused. */
export interface Creation {
  request: Request
  reply: Reply
  contact: KnownContact | undefined
}

const senders = 8

type Verdict = 'acknowledged' | 'refused' | 'unknown' | 'not taken'

type Kind = OpenChange['kind'] | 'push'

/** Of ten writes so many are of each kind. */
const kinds: readonly Kind[] = [
  ...(['create', 'create', 'create', 'create'] as const),
  ...(['update', 'update', 'update'] as const),
  ...(['delete'] as const),
  ...(['push', 'push'] as const),
]

/** Mixed writes, and a ledger of what was said of each. */
export class Writers {
  readonly contacts: KnownContact[] = []
  readonly pushes: KnownPush[] = []
  readonly counts = { acknowledged: 0, refused: 0, unknown: 0, 'not taken': 0 }
  /** Answers that no law allows, with what asked for them. */
  readonly strange: string[] = []
  /** Answers by status. */
  readonly statuses = new Map<number, number>()
  /** Milliseconds that the slowest answer took, and how many refusals did not say when to come back. */
  slowest = 0
  readonly silent: string[] = []
  /** What 503s said. */
  readonly reasons = new Set<string>()
  readonly #options: WriterOptions
  readonly #random: () => number
  readonly #acknowledged: { sentAt: number; at: number }[] = []
  #isOver = false
  #done: Promise<unknown> = Promise.resolve()

  constructor(options: WriterOptions) {
    this.#options = options
    this.#random = options.run.random
  }

  start(): void {
    this.#done = Promise.all(Array.from({ length: senders }, () => this.#work()))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#done
  }

  /** `performance.now()` of the first acknowledgement of a request that was sent after a moment. */
  firstSentAfter(moment: number): number | undefined {
    return this.#acknowledged.find(({ sentAt }) => sentAt >= moment)?.at
  }

  /** Forgets the moments of acknowledgements, which else would pile up. */
  forgetMoments(): void {
    this.#acknowledged.length = 0
  }

  /**
   * Repeats what is unknown until it is known, and what has a key once more; `made` are the addresses of those whose
   * effect was seen. Errors: an answer that says it will never be known.
   */
  async settle(made: ReadonlySet<string>): Promise<Repetition[]> {
    const repetitions: Repetition[] = []
    const repeat = async (email: string, request: Request): Promise<Reply> => {
      const reply = await this.#repeat(request)
      if (request.key === undefined) return reply
      const replayed = [isReplay(reply), isReplay(await this.#repeat(request))] as const
      repetitions.push({ email, wasMade: made.has(email), replayed })
      return reply
    }
    await eachTogether(this.contacts, async (contact) => {
      const { email, open } = contact
      if (open) settled(contact, open, await repeat(email, open.request))
    })
    await eachTogether(this.pushes, async (push) => {
      if (push.rowId === undefined) push.rowId = idOf(await repeat(push.email, push.request))
    })
    return repetitions
  }

  async #repeat(request: Request): Promise<Reply> {
    for (const deadline = performance.now() + 60_000; ; await delay(100)) {
      const reply = await this.#options.client.send(request)
      if (isGood(reply) || (request.method === 'DELETE' && reply.status === 404)) return reply
      const mayPass = reply.status <= 0 || reply.status === 503 || reply.status === 409 || reply.status === 429
      if (!mayPass || performance.now() > deadline) {
        throw new Error(`${request.method} ${request.path} repeated: ${reply.status} ${JSON.stringify(reply.body)}`)
      }
    }
  }

  async #work(): Promise<void> {
    const mine: KnownContact[] = []
    while (!this.#isOver) {
      const kind = oneOf(kinds, this.#random)
      const known = mine.filter(({ isThere, open }) => isThere && !open)
      if (kind === 'push') await this.#push()
      else if (kind === 'create' || known.length === 0) {
        const { contact } = await this.create()
        if (contact) mine.push(contact)
      } else await this.#change(oneOf(known, this.#random), kind)
      // So that looking for one to change stays cheap.
      if (mine.length > 50) mine.splice(0, 25)
    }
  }

  /** Creates a contact with an address of its own, and of these properties too. */
  async create(properties: object = {}): Promise<Creation> {
    const email = `${randomUUID()}@example.com`
    const contact: KnownContact = { email, id: undefined, nickname: null, isThere: false, revision: 0 }
    const request = { method: 'POST', path: '/v5/contacts', body: { email, ...properties }, key: randomUUID() }
    const reply = await this.#send({ contact, change: { kind: 'create', request, nickname: null } })
    if (!isGood(reply) && !contact.open) return { request, reply, contact: undefined }
    this.contacts.push(contact)
    return { request, reply, contact }
  }

  async #change(contact: KnownContact, kind: 'update' | 'delete'): Promise<void> {
    const path = `/v5/contacts/${contact.id}`
    const nickname = randomUUID()
    if (kind === 'delete') contact.isLeaving = true
    const request: Request =
      kind === 'update' ? { method: 'PATCH', path, body: { nickname }, key: randomUUID() } : { method: 'DELETE', path }
    await this.#send({ contact, change: { kind, request, nickname: kind === 'update' ? nickname : contact.nickname } })
  }

  async #push(): Promise<void> {
    const name = randomUUID()
    const body = {
      contact: { email: `${name}@example.com`, note: `About ${name}` },
      company: { name: `Company ${name}` },
    }
    const request = { method: 'POST', path: this.#options.triggerPath, body, key: randomUUID() }
    const { reply, verdict } = await this.#ask(request)
    if (verdict === 'refused' || verdict === 'not taken') return
    const rowId = verdict === 'acknowledged' ? idOf(reply) : undefined
    this.pushes.push({ email: body.contact.email, request, rowId })
  }

  async #send({ contact, change }: { contact: KnownContact; change: OpenChange }): Promise<Reply> {
    const { reply, verdict } = await this.#ask(change.request)
    if (verdict === 'acknowledged') settled(contact, change, reply)
    if (verdict === 'unknown') contact.open = change
    return reply
  }

  async #ask(request: Request): Promise<{ reply: Reply; verdict: Verdict }> {
    const reply = await this.#options.client.send(request)
    const verdict = this.#judge(request, reply)
    const { rest: most, breath } = this.#options.run
    const rest = this.#random() * most
    if (verdict !== 'acknowledged') await delay(breath)
    else if (rest > 0) await delay(rest)
    return { reply, verdict }
  }

  #judge({ method, path }: Request, reply: Reply): Verdict {
    const { status, milliseconds, headers } = reply
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    this.slowest = Math.max(this.slowest, milliseconds)
    if (status === 503 && !(Number(headers.get('retry-after')) >= 1)) this.silent.push(`${method} ${path}`)
    if (status === 503) this.reasons.add((reply.body as { description?: string } | undefined)?.description ?? '')
    const verdict = verdictOf(reply)
    if (verdict === 'refused') this.strange.push(`${method}: ${status} ${JSON.stringify(reply.body)}`)
    this.counts[verdict]++
    if (verdict === 'acknowledged') {
      this.#acknowledged.push({ sentAt: reply.sentAt, at: reply.sentAt + milliseconds })
    }
    return verdict
  }
}

/** A 503 may come after the change was made, so it is unknown like a lost answer; any other refusal changed nothing. */
function verdictOf(reply: Reply): Verdict {
  if (isGood(reply)) return 'acknowledged'
  if (reply.status === -1) return 'not taken'
  return reply.status === 0 || reply.status === 503 ? 'unknown' : 'refused'
}

/** The contact as it is once the change is made. */
function settled(contact: KnownContact, { kind, nickname }: OpenChange, reply: Reply): void {
  contact.id ??= idOf(reply)
  contact.isThere = kind !== 'delete'
  contact.nickname = nickname
  contact.revision++
  delete contact.open
}

const isGood = ({ status }: Reply): boolean => status >= 200 && status < 300

const isReplay = ({ headers }: Reply): boolean => headers.get('idempotent-replayed') === 'true'

export const idOf = ({ body }: Reply): string | undefined => (body as { id?: string } | undefined)?.id
