import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Reply, Request } from './client.ts'
import type { ExpectedDeal, UnknownMove } from './deal-ledger.ts'
import type { ExpectedContact, SentPush, UnknownChange, Repetition } from './ledger.ts'
import { forEachConcurrently, pickOne, type Run } from './scenario.ts'
import { type Acceptance, noteTexts } from './suggestion-ledger.ts'

export interface WriterOptions {
  client: Client
  triggerPath: string
  /** Ids of open stages, between which deals are moved. */
  stageIds: readonly string[]
  run: Pick<Run, 'maxPause' | 'pauseAfterFailure' | 'random'>
}

/** The outcome of a creation; `contact` is undefined if it was rejected. */
export interface Creation {
  request: Request
  reply: Reply
  contact: ExpectedContact | undefined
}

const writerCount = 8
const openSuggestions = '/v5/suggestions?status=pending&sort=asc&limit=3&select[]=id'

type Outcome = 'acknowledged' | 'rejected' | 'unknown' | 'connection refused'

type Kind = UnknownChange['kind'] | 'move' | 'push' | 'accept'

/** Eleven writes contain this many of each kind. */
const kinds: readonly Kind[] = [
  ...(['create', 'create', 'create', 'create'] as const),
  ...(['update', 'update'] as const),
  ...(['delete'] as const),
  ...(['move'] as const),
  ...(['push', 'push'] as const),
  ...(['accept'] as const),
]

/** Sends mixed writes and keeps a ledger of their outcomes. */
export class Writers {
  readonly contacts: ExpectedContact[] = []
  readonly deals: ExpectedDeal[] = []
  readonly pushes: SentPush[] = []
  readonly acceptances: Acceptance[] = []
  readonly counts = { acknowledged: 0, rejected: 0, unknown: 0, 'connection refused': 0 }
  /** Responses that no guarantee allows, with their requests. */
  readonly unexpected: string[] = []
  /** Responses by status. */
  readonly statuses = new Map<number, number>()
  /** Milliseconds of the slowest response. */
  slowest = 0
  readonly withoutRetryAfter: string[] = []
  /** Descriptions of 503 responses. */
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

  /** `performance.now()` of the first acknowledgement of a request sent after `moment`. */
  firstAcknowledgedAfter(moment: number): number | undefined {
    return this.#acknowledged.find(({ sentAt }) => sentAt >= moment)?.at
  }

  /** Removes the stored acknowledgements, which would otherwise accumulate. */
  clearAcknowledged(): void {
    this.#acknowledged.length = 0
  }

  /**
   * Repeats unknown changes until they are acknowledged, and those with a key once more. `applied` contains the addresses
   * and names whose change is visible. Errors: a response that makes retrying pointless.
   */
  async repeatUnknown(applied: ReadonlySet<string>): Promise<Repetition[]> {
    const repetitions: Repetition[] = []
    const repeat = async (subject: string, request: Request): Promise<Reply> => {
      const reply = await this.#repeat(request)
      if (request.key === undefined) return reply
      const replayed = [isReplay(reply), isReplay(await this.#repeat(request))] as const
      repetitions.push({ subject, wasApplied: applied.has(subject), replayed })
      return reply
    }
    await forEachConcurrently(this.contacts, async (contact) => {
      const { email, unknownChange } = contact
      if (unknownChange) applyChange(contact, unknownChange, await repeat(email, unknownChange.request))
    })
    await forEachConcurrently(this.deals, async (deal) => {
      const { name, unknownMove } = deal
      if (unknownMove) applyMove(deal, unknownMove, await repeat(name, unknownMove.request))
    })
    await forEachConcurrently(this.pushes, async (push) => {
      if (push.rowId === undefined) push.rowId = idOf(await repeat(push.email, push.request))
    })
    await forEachConcurrently(this.acceptances, async (acceptance) => {
      if (!acceptance.isAcknowledged) acceptance.isAcknowledged = isGood(await this.#repeat(acceptance.request))
    })
    return repetitions
  }

  async #repeat(request: Request): Promise<Reply> {
    for (const deadline = performance.now() + 60_000; ; await delay(100)) {
      const reply = await this.#options.client.send(request)
      if (isGood(reply) || (request.method === 'DELETE' && reply.status === 404) || isDecided(reply)) return reply
      const isTemporary = reply.status <= 0 || reply.status === 503 || reply.status === 409 || reply.status === 429
      if (!isTemporary || performance.now() > deadline) {
        throw new Error(`${request.method} ${request.path} repeated: ${reply.status} ${JSON.stringify(reply.body)}`)
      }
    }
  }

  async #work(): Promise<void> {
    const own: ExpectedContact[] = []
    let deal: ExpectedDeal | undefined
    while (!this.#isOver) {
      const kind = pickOne(kinds, this.#random)
      const existing = own.filter(({ exists, unknownChange }) => exists && !unknownChange)
      if (kind === 'push') await this.#push()
      else if (kind === 'accept') await this.#accept()
      else if (kind === 'move') deal = await this.#moveDeal(deal)
      else if (kind === 'create' || existing.length === 0) {
        const { contact } = await this.create()
        if (contact) own.push(contact)
      } else await this.#change(pickOne(existing, this.#random), kind)
      // Keeps the search for a contact to change fast.
      if (own.length > 50) own.splice(0, 25)
    }
  }

  /** Creates a contact with a unique address and these properties. */
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

  /** Moves the deal to another stage, or creates one if the stages of all are unknown. */
  async #moveDeal(current: ExpectedDeal | undefined): Promise<ExpectedDeal | undefined> {
    const deal = current ?? { name: randomUUID(), id: undefined, stages: [] }
    const others = this.#options.stageIds.filter((id) => id !== deal.stages.at(-1))
    const stageId = pickOne(others, this.#random)
    const request = current
      ? { method: 'POST', path: `/v5/deals/${current.id}/move`, body: { stageId }, key: randomUUID() }
      : { method: 'POST', path: '/v5/deals', body: { name: deal.name, stageId }, key: randomUUID() }
    const { reply, outcome } = await this.#ask(request)
    const isPossible = outcome === 'acknowledged' || outcome === 'unknown'
    if (!current && isPossible) this.deals.push(deal)
    if (outcome === 'acknowledged') applyMove(deal, { request, stageId }, reply)
    if (outcome === 'unknown') deal.unknownMove = { request, stageId }
    return outcome === 'unknown' || (!current && !isPossible) ? undefined : deal
  }

  async #push(): Promise<void> {
    const name = randomUUID()
    const body = {
      contact: { email: `${name}@example.com`, note: pickOne(noteTexts, this.#random) },
      company: { name: `Company ${name}` },
    }
    const request = { method: 'POST', path: this.#options.triggerPath, body, key: randomUUID() }
    const { reply, outcome } = await this.#ask(request)
    if (outcome === 'rejected' || outcome === 'connection refused') return
    const rowId = outcome === 'acknowledged' ? idOf(reply) : undefined
    this.pushes.push({ email: body.contact.email, request, rowId })
  }

  /** Accepts a suggestion, perhaps one that another writer accepts at the same time; pushes a note if none is open. */
  async #accept(): Promise<void> {
    const listed = await this.#options.client.send({ method: 'GET', path: openSuggestions })
    const open = isGood(listed) ? (listed.body as { id: string }[]) : []
    if (open.length === 0) return this.#push()
    const { id } = pickOne(open, this.#random)
    const request = { method: 'POST', path: `/v5/suggestions/${id}/accept`, body: {}, key: randomUUID() }
    const { outcome } = await this.#ask(request)
    if (outcome === 'acknowledged' || outcome === 'unknown')
      this.acceptances.push({ suggestionId: id, request, isAcknowledged: outcome === 'acknowledged' })
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
    // A correct refusal is not a failed request.
    if (!isDecided(reply)) this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    this.slowest = Math.max(this.slowest, milliseconds)
    if (status === 503 && !(Number(headers.get('retry-after')) >= 1)) this.withoutRetryAfter.push(`${method} ${path}`)
    if (status === 503) this.reasons.add((reply.body as { description?: string } | undefined)?.description ?? '')
    const outcome = outcomeOf(reply)
    if (outcome === 'rejected' && !isDecided(reply))
      this.unexpected.push(`${method}: ${status} ${JSON.stringify(reply.body)}`)
    this.counts[outcome]++
    if (outcome === 'acknowledged') {
      this.#acknowledged.push({ sentAt: reply.sentAt, at: reply.sentAt + milliseconds })
    }
    return outcome
  }
}

/** A 503 may be sent after the change was made, so it is unknown like a lost response. Other errors change nothing. */
function outcomeOf(reply: Reply): Outcome {
  if (isGood(reply)) return 'acknowledged'
  if (reply.status === -1) return 'connection refused'
  return reply.status === 0 || reply.status === 503 ? 'unknown' : 'rejected'
}

/** Updates the expected state after the change. */
function applyChange(contact: ExpectedContact, { kind, nickname }: UnknownChange, reply: Reply): void {
  contact.id ??= idOf(reply)
  contact.exists = kind !== 'delete'
  contact.nickname = nickname
  contact.revision++
  delete contact.unknownChange
}

function applyMove(deal: ExpectedDeal, { stageId }: UnknownMove, reply: Reply): void {
  deal.id ??= idOf(reply)
  deal.stages.push(stageId)
  delete deal.unknownMove
}

const isGood = ({ status }: Reply): boolean => status >= 200 && status < 300

/** Another writer has accepted the suggestion. */
const isDecided = ({ status, body }: Reply): boolean =>
  status === 409 && (body as { code?: string } | undefined)?.code === 'already_decided'

const isReplay = ({ headers }: Reply): boolean => headers.get('idempotent-replayed') === 'true'

export const idOf = ({ body }: Reply): string | undefined => (body as { id?: string } | undefined)?.id
