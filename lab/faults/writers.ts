import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Reply, Request } from './client.ts'
import type { ExpectedContact, SentPush, UnknownChange, Repetition } from './ledger.ts'
import { forEachConcurrently, pickOne, type Run } from './scenario.ts'

export interface WriterOptions {
  client: Client
  triggerPath: string
  run: Pick<Run, 'maxPause' | 'pauseAfterFailure' | 'random'>
}

/** A contact's creation as it went; none is known where it was refused. */
export interface Creation {
  request: Request
  reply: Reply
  contact: ExpectedContact | undefined
}

const writerCount = 8

type Outcome = 'acknowledged' | 'refused' | 'unknown' | 'not taken'

type Kind = UnknownChange['kind'] | 'push'

/** Of ten writes so many are of each kind. */
const kinds: readonly Kind[] = [
  ...(['create', 'create', 'create', 'create'] as const),
  ...(['update', 'update', 'update'] as const),
  ...(['delete'] as const),
  ...(['push', 'push'] as const),
]

/** Mixed writes, and a ledger of what was said of each. */
export class Writers {
  readonly contacts: ExpectedContact[] = []
  readonly pushes: SentPush[] = []
  readonly counts = { acknowledged: 0, refused: 0, unknown: 0, 'not taken': 0 }
  /** Answers that no law allows, with what asked for them. */
  readonly unexpected: string[] = []
  /** Answers by status. */
  readonly statuses = new Map<number, number>()
  /** Milliseconds that the slowest answer took, and how many refusals did not say when to come back. */
  slowest = 0
  readonly withoutRetryAfter: string[] = []
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
    this.#done = Promise.all(Array.from({ length: writerCount }, () => this.#work()))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#done
  }

  /** `performance.now()` of the first acknowledgement of a request that was sent after a moment. */
  firstAcknowledgedAfter(moment: number): number | undefined {
    return this.#acknowledged.find(({ sentAt }) => sentAt >= moment)?.at
  }

  /** Forgets the moments of acknowledgements, which else would pile up. */
  clearAcknowledged(): void {
    this.#acknowledged.length = 0
  }

  /**
   * Repeats what is unknown until it is known, and what has a key once more; `made` are the addresses of those whose
   * effect was seen. Errors: an answer that says it will never be known.
   */
  async repeatUnknown(applied: ReadonlySet<string>): Promise<Repetition[]> {
    const repetitions: Repetition[] = []
    const repeat = async (email: string, request: Request): Promise<Reply> => {
      const reply = await this.#repeat(request)
      if (request.key === undefined) return reply
      const replayed = [isReplay(reply), isReplay(await this.#repeat(request))] as const
      repetitions.push({ email, wasApplied: applied.has(email), replayed })
      return reply
    }
    await forEachConcurrently(this.contacts, async (contact) => {
      const { email, unknownChange } = contact
      if (unknownChange) applyChange(contact, unknownChange, await repeat(email, unknownChange.request))
    })
    await forEachConcurrently(this.pushes, async (push) => {
      if (push.rowId === undefined) push.rowId = idOf(await repeat(push.email, push.request))
    })
    return repetitions
  }

  async #repeat(request: Request): Promise<Reply> {
    for (const deadline = performance.now() + 60_000; ; await delay(100)) {
      const reply = await this.#options.client.send(request)
      if (isGood(reply) || (request.method === 'DELETE' && reply.status === 404)) return reply
      const isTemporary = reply.status <= 0 || reply.status === 503 || reply.status === 409 || reply.status === 429
      if (!isTemporary || performance.now() > deadline) {
        throw new Error(`${request.method} ${request.path} repeated: ${reply.status} ${JSON.stringify(reply.body)}`)
      }
    }
  }

  async #work(): Promise<void> {
    const own: ExpectedContact[] = []
    while (!this.#isOver) {
      const kind = pickOne(kinds, this.#random)
      const existing = own.filter(({ exists, unknownChange }) => exists && !unknownChange)
      if (kind === 'push') await this.#push()
      else if (kind === 'create' || existing.length === 0) {
        const { contact } = await this.create()
        if (contact) own.push(contact)
      } else await this.#change(pickOne(existing, this.#random), kind)
      // So that looking for one to change stays cheap.
      if (own.length > 50) own.splice(0, 25)
    }
  }

  /** Creates a contact with an address of its own, and of these properties too. */
  async create(properties: object = {}): Promise<Creation> {
    const email = `${randomUUID()}@example.com`
    const contact: ExpectedContact = { email, id: undefined, nickname: null, exists: false, revision: 0 }
    const request = { method: 'POST', path: '/v5/contacts', body: { email, ...properties }, key: randomUUID() }
    const reply = await this.#send({ contact, change: { kind: 'create', request, nickname: null } })
    if (!isGood(reply) && !contact.unknownChange) return { request, reply, contact: undefined }
    this.contacts.push(contact)
    return { request, reply, contact }
  }

  async #change(contact: ExpectedContact, kind: 'update' | 'delete'): Promise<void> {
    const path = `/v5/contacts/${contact.id}`
    const nickname = randomUUID()
    if (kind === 'delete') contact.isDeleting = true
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
    const { reply, outcome } = await this.#ask(request)
    if (outcome === 'refused' || outcome === 'not taken') return
    const rowId = outcome === 'acknowledged' ? idOf(reply) : undefined
    this.pushes.push({ email: body.contact.email, request, rowId })
  }

  async #send({ contact, change }: { contact: ExpectedContact; change: UnknownChange }): Promise<Reply> {
    const { reply, outcome } = await this.#ask(change.request)
    if (outcome === 'acknowledged') applyChange(contact, change, reply)
    if (outcome === 'unknown') contact.unknownChange = change
    return reply
  }

  async #ask(request: Request): Promise<{ reply: Reply; outcome: Outcome }> {
    const reply = await this.#options.client.send(request)
    const outcome = this.#judge(request, reply)
    const { maxPause: max, pauseAfterFailure } = this.#options.run
    const pause = this.#random() * max
    if (outcome !== 'acknowledged') await delay(pauseAfterFailure)
    else if (pause > 0) await delay(pause)
    return { reply, outcome }
  }

  #judge({ method, path }: Request, reply: Reply): Outcome {
    const { status, milliseconds, headers } = reply
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    this.slowest = Math.max(this.slowest, milliseconds)
    if (status === 503 && !(Number(headers.get('retry-after')) >= 1)) this.withoutRetryAfter.push(`${method} ${path}`)
    if (status === 503) this.reasons.add((reply.body as { description?: string } | undefined)?.description ?? '')
    const outcome = outcomeOf(reply)
    if (outcome === 'refused') this.unexpected.push(`${method}: ${status} ${JSON.stringify(reply.body)}`)
    this.counts[outcome]++
    if (outcome === 'acknowledged') {
      this.#acknowledged.push({ sentAt: reply.sentAt, at: reply.sentAt + milliseconds })
    }
    return outcome
  }
}

/** A 503 may come after the change was made, so it is unknown like a lost answer; any other refusal changed nothing. */
function outcomeOf(reply: Reply): Outcome {
  if (isGood(reply)) return 'acknowledged'
  if (reply.status === -1) return 'not taken'
  return reply.status === 0 || reply.status === 503 ? 'unknown' : 'refused'
}

/** The contact as it is once the change is made. */
function applyChange(contact: ExpectedContact, { kind, nickname }: UnknownChange, reply: Reply): void {
  contact.id ??= idOf(reply)
  contact.exists = kind !== 'delete'
  contact.nickname = nickname
  contact.revision++
  delete contact.unknownChange
}

const isGood = ({ status }: Reply): boolean => status >= 200 && status < 300

const isReplay = ({ headers }: Reply): boolean => headers.get('idempotent-replayed') === 'true'

export const idOf = ({ body }: Reply): string | undefined => (body as { id?: string } | undefined)?.id
