import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Random, randomOf } from './import-payloads.ts'
import type { Call, Json, TestResponse } from './service.ts'

/** A response that says what became of the request: sent again until there is one. */
export type Send = (method: string, path: string, body?: object) => Promise<{ status: number; body: Json }>

/** Sends each request with one key until a response says what became of it. `call`: undefined without a response. */
export const persistent =
  (call: (...given: Parameters<Call>) => Promise<TestResponse<Json> | undefined>): Send =>
  async (method, path, body) => {
    const headers: Record<string, string> = method === 'GET' ? {} : { 'idempotency-key': randomUUID() }
    for (;;) {
      const response = await call(method, path, { headers, ...(body && { body }) })
      if (response && response.status < 500 && response.status !== 429 && response.body?.code !== inProgress)
        return response
      await delay(50)
    }
  }

const inProgress = 'idempotency_in_progress'

/** What became of a request. */
export interface Outcome {
  method: string
  path: string
  status: number
  /** Of the record that was created or changed. */
  id: string | undefined
  /** A text that no other request contains, if the request sets one. */
  mark: string | undefined
  /** When its response arrived. */
  at: number
}

interface Known {
  id: string
  /** With the id. */
  path: string
}

const kinds = ['contacts', 'companies', 'deals', 'tasks', 'campaigns', 'views', 'properties', 'teams'] as const
type Kind = (typeof kinds)[number] | 'pipelines' | 'stages' | 'notes' | 'employments' | 'links' | 'imports'

/** The field of each kind that a mark is put into. */
const markedFields: Readonly<Partial<Record<Kind, string>>> = {
  tasks: 'title',
  employments: 'title',
  notes: 'body',
  properties: 'label',
}

/** The statuses of requests that were refused because others had changed what they are about. */
const refusals = new Set([400, 403, 404, 409, 412, 422, 423])

const texts = ['Please call me tomorrow at 14:00.', 'Could you send me the price list?', 'No, thanks, not interested.']

/** Programs that write at the same time know each other’s records, so that they meet. */
export class FeedProgram {
  readonly outcomes: Outcome[] = []
  readonly #known = new Map<Kind, Known[]>()
  readonly #triggers: string[] = []
  #marks = 0

  /** Begins with the records that an organization starts with, and with some of each kind that others need. */
  async prepare(send: Send, triggerUrl: string): Promise<void> {
    this.#triggers.push(new URL(triggerUrl).pathname)
    const random = randomOf(0)
    // Writers of one pipeline wait for each other.
    for (let count = 0; count < 3; count++) await this.#create({ send, random }, 'pipelines', '/v5/pipelines', {})
    for (const { id } of (await send('GET', '/v5/pipelines')).body) {
      this.#learn('pipelines', { id, path: `/v5/pipelines/${id}` })
      await this.#create({ send, random }, 'stages', `/v5/pipelines/${id}/stages`, {})
      for (const stage of (await send('GET', `/v5/pipelines/${id}/stages`)).body)
        this.#learn('stages', { id: stage.id, path: `/v5/pipelines/${id}/stages/${stage.id}` })
    }
    for (const create of [this.#company, this.#contact, this.#deal, this.#task]) await create({ send, random })
  }

  /** Does random things, one after the other. */
  async write(send: Send, random: Random, count: number): Promise<void> {
    for (let done = 0; done < count; done++) await this.#step({ send, random })
  }

  readonly #step = async (writer: Writer): Promise<void> => {
    const actions = this.#actions
    const sum = actions.reduce((total, [weight]) => total + weight, 0)
    let turn = writer.random() * sum
    for (const [weight, act] of actions) {
      turn -= weight
      if (turn < 0) return act(writer)
    }
  }

  get #actions(): readonly (readonly [number, (writer: Writer) => Promise<void>])[] {
    return [
      [8, this.#contact],
      [3, this.#company],
      [5, this.#deal],
      [3, this.#task],
      [4, this.#note],
      [2, this.#link],
      [2, this.#other],
      [16, this.#change],
      [5, this.#delete],
      [3, this.#restore],
      [3, this.#block],
      [6, this.#move],
      [1, this.#stage],
      [6, this.#push],
      [2, this.#decide],
      [0.5, this.#examples],
    ]
  }

  readonly #contact = (writer: Writer) =>
    this.#create(writer, 'contacts', '/v5/contacts', {
      ...(writer.random() < 0.5 && { email: emailOf(writer) }),
      ...(writer.random() < 0.6 && { companyId: this.#any(writer, 'companies')?.id }),
      ...(writer.random() < 0.3 && { teamId: this.#any(writer, 'teams')?.id }),
      ...(writer.random() < 0.3 && { customProperties: { plan: 'pro' }, tags: ['vip'] }),
    })

  readonly #company = (writer: Writer) =>
    this.#create(writer, 'companies', '/v5/companies', {
      ...(writer.random() < 0.5 && { domain: domainOf(writer) }),
    })

  readonly #deal = (writer: Writer) =>
    this.#create(writer, 'deals', '/v5/deals', {
      stageId: this.#any(writer, 'stages')?.id,
      companyId: this.#any(writer, 'companies')?.id,
      amount: '12.50',
    })

  readonly #task = (writer: Writer) => {
    const about = pick(writer, ['contact', 'company', 'deal'] as const)
    const id = this.#any(writer, about === 'company' ? 'companies' : `${about}s`)?.id
    return this.#create(writer, 'tasks', '/v5/tasks', { [`${about}Id`]: id, dueDate: '2030-01-02' })
  }

  readonly #note = async (writer: Writer) => {
    const parent = this.#any(writer, pick(writer, ['contacts', 'companies', 'deals']))
    if (parent) await this.#create(writer, 'notes', `${parent.path}/notes`, {}, pick(writer, texts))
  }

  readonly #link = async (writer: Writer) => {
    const deal = this.#any(writer, 'deals')
    const contactId = this.#any(writer, 'contacts')?.id
    const body = { contactId, isPrimary: writer.random() < 0.7 }
    if (deal) await this.#create(writer, 'links', `${deal.path}/contacts`, body, undefined)
  }

  readonly #other = async (writer: Writer) => {
    const contact = this.#any(writer, 'contacts')
    const act = pick(writer, [
      () => this.#create(writer, 'campaigns', '/v5/campaigns', {}),
      () => this.#create(writer, 'views', '/v5/views', { resource: 'contacts' }),
      () => this.#create(writer, 'teams', '/v5/teams', {}),
      () => this.#create(writer, 'pipelines', '/v5/pipelines', {}),
      () => this.#create(writer, 'properties', '/v5/properties', { resource: 'contacts', key: 'plan', type: 'text' }),
      async () => void (contact && (await this.#create(writer, 'employments', `${contact.path}/employments`, jobOf()))),
      async () => {
        const created = await this.#create(writer, 'imports', '/v5/imports', {})
        if (created?.triggerUrl) this.#triggers.push(new URL(created.triggerUrl).pathname)
      },
    ])
    await act()
  }

  readonly #change = async (writer: Writer) => {
    const kind = pick(writer, ['contacts', ...kinds, 'notes', 'employments', 'stages', 'pipelines', 'imports'] as const)
    const known = this.#any(writer, kind)
    if (!known) return
    const mark = this.#newMark()
    const isContact = kind === 'contacts'
    await this.#send(
      writer,
      'PATCH',
      known.path,
      { id: known.id, mark },
      {
        [markedFields[kind] ?? 'name']: mark,
        ...(isContact && writer.random() < 0.3 && { email: emailOf(writer), customProperties: { plan: null } }),
        ...(isContact && writer.random() < 0.3 && { companyId: this.#any(writer, 'companies')?.id }),
        ...(kind === 'tasks' && { done: writer.random() < 0.5 }),
        ...(kind === 'stages' && writer.random() < 0.5 && { position: Math.floor(writer.random() * 4) }),
        ...(kind === 'deals' && { stageId: this.#any(writer, 'stages')?.id }),
      },
    )
  }

  readonly #delete = async (writer: Writer) => {
    const known = this.#any(writer, pick(writer, deletable))
    if (known) await this.#send(writer, 'DELETE', known.path, { id: known.id })
  }

  readonly #restore = async (writer: Writer) => {
    const known = this.#any(writer, pick(writer, deletable))
    if (known) await this.#send(writer, 'POST', `${known.path}/restore`, { id: known.id })
  }

  readonly #block = async (writer: Writer) => {
    const known = this.#any(writer, 'contacts')
    if (known) await this.#send(writer, pick(writer, ['POST', 'DELETE']), `${known.path}/block`, { id: known.id })
  }

  readonly #move = async (writer: Writer) => {
    const known = this.#any(writer, 'deals')
    const stageId = this.#any(writer, 'stages')?.id
    if (known) await this.#send(writer, 'POST', `${known.path}/move`, { id: known.id }, { stageId })
  }

  readonly #stage = async (writer: Writer) => {
    const pipeline = this.#any(writer, 'pipelines')
    const [stage, other] = [this.#any(writer, 'stages'), this.#any(writer, 'stages')]
    if (!pipeline || !stage || !other) return
    if (writer.random() < 0.6) await this.#create(writer, 'stages', `${pipeline.path}/stages`, { position: 1 })
    else await this.#send(writer, 'DELETE', `${stage.path}?moveDealsTo=${other.id}`, { id: stage.id })
  }

  /** Leads of few people and companies, so that most are merged. */
  readonly #push = async (writer: Writer) => {
    const company = { name: 'Engines', domain: domainOf(writer), city: `City ${this.#newMark()}` }
    await this.#send(
      writer,
      'POST',
      pick(writer, this.#triggers),
      {},
      {
        contact: { email: emailOf(writer), bio: this.#newMark(), note: pick(writer, texts) },
        employment: { title: 'Analyst' },
        ...(writer.random() < 0.5 && { company }),
      },
    )
  }

  readonly #decide = async (writer: Writer) => {
    const { body } = await writer.send('GET', '/v5/suggestions?status=pending&limit=5')
    const suggestion: Json = Array.isArray(body) ? body[Math.floor(writer.random() * body.length)] : undefined
    if (!suggestion) return
    const decision = pick(writer, ['accept', 'reject'])
    await this.#send(writer, 'POST', `/v5/suggestions/${suggestion.id}/${decision}`, { id: suggestion.id }, {})
  }

  readonly #examples = async (writer: Writer) => {
    await this.#send(writer, pick(writer, ['POST', 'DELETE']), '/v5/example-data', {})
  }

  async #create(writer: Writer, kind: Kind, path: string, values: object, text?: string): Promise<Json> {
    const mark = kind === 'links' ? undefined : this.#newMark()
    const body = { ...(mark && { [markedFields[kind] ?? 'name']: [text, mark].filter(Boolean).join(' ') }), ...values }
    const created = await this.#send(writer, 'POST', path, { mark }, body)
    if (created?.id !== undefined) this.#learn(kind, { id: created.id, path: `${path}/${created.id}` })
    return created
  }

  /** Resolves to the body of a response that was no refusal. */
  async #send(
    { send }: Writer,
    method: string,
    path: string,
    { id, mark }: { id?: string; mark?: string | undefined },
    body?: object,
  ): Promise<Json> {
    const response = await send(method, path, body)
    const { status } = response
    if (status >= 300 && !refusals.has(status))
      throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${status} ${JSON.stringify(response.body)}`)
    this.outcomes.push({
      method,
      path,
      status,
      id: id ?? (status < 300 ? response.body?.id : undefined),
      mark,
      at: performance.now(),
    })
    return status < 300 ? response.body : undefined
  }

  #newMark(): string {
    return `mark-${this.#marks++}-`
  }

  #learn(kind: Kind, known: Known): void {
    this.#known.set(kind, [...(this.#known.get(kind) ?? []), known])
  }

  /** Rather one of the latest. */
  #any({ random }: Writer, kind: Kind): Known | undefined {
    const all = this.#known.get(kind) ?? []
    return all[all.length - 1 - Math.floor(random() ** 2 * all.length)]
  }
}

interface Writer {
  send: Send
  random: Random
}

const deletable = [...kinds, 'contacts', 'deals', 'notes', 'employments', 'links', 'pipelines', 'imports'] as const

const pick = <Item>({ random }: Writer, items: readonly Item[]): Item =>
  items[Math.floor(random() * items.length)] as Item

const numberOf = ({ random }: Writer): number => Math.floor(random() * 30)
const emailOf = (writer: Writer): string => `person-${numberOf(writer)}@example.com`
const domainOf = (writer: Writer): string => `company-${numberOf(writer) % 8}.example`
const jobOf = () => ({ organization: 'Engines', start: '2020-01' })
