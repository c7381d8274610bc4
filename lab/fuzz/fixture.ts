import type { Account } from '../shared/service.ts'
import { type Contract, type Operation, type Schema } from './document.ts'
import { textOf as textOfJson } from './json.ts'
import { Random } from './random.ts'
import { type Lexicon, valueOf } from './values.ts'

/** A record that a path can name. */
export interface Place {
  /** The parameter that names it, `contactId`. */
  own: string
  /** The ids of the path, by parameter. */
  params: Readonly<Record<string, string>>
  /** `spent` may be deleted, disabled and so on by any request; `kept` is there for the others. */
  use: 'kept' | 'spent' | 'deleted'
}

/** An organization that is filled. */
export interface Population {
  account: Account
  lexicon: Lexicon
  places: readonly Place[]
  /** Signed cursors, by the path of the list that gave them. */
  cursors: ReadonlyMap<string, string>
}

export interface PopulationOptions {
  contract: Contract
  port: number
  account: Account
  words: readonly string[]
  domain: string
  /** Records of each kind. */
  records: number
  /** Another one than that of the requests: those are counted from 0. */
  seed: number
}

/** Of the records of each kind, how many are kept. */
const kept = 4

/** Fills an organization with records of every kind that the document knows how to create. */
export async function populate(options: PopulationOptions): Promise<Population> {
  const filling = new Filling(options)
  await filling.create()
  await filling.push()
  await filling.find()
  await filling.deleteSome()
  return filling.population()
}

class Filling {
  readonly #options: PopulationOptions
  readonly #ids = new Map<string, string[]>()
  readonly #places = new Map<string, Place>()
  readonly #uses = new Map<string, Place['use']>()
  readonly #cursors = new Map<string, string>()
  readonly #hashes = new Map<string, string>()

  constructor(options: PopulationOptions) {
    const { account } = options
    this.#options = options
    for (const id of [account.organizationId, account.teamId, account.userId, account.importId]) this.#learn(id)
    this.#hashes.set(account.importId, account.triggerUrl.slice(account.triggerUrl.lastIndexOf('/') + 1))
  }

  /** Records of every kind, those without a parent first. */
  async create(): Promise<void> {
    const creators = this.#operations(({ method, answers }) => method === 'POST' && answers.has(201))
    for (const operation of creators.sort((left, right) => left.ids.length - right.ids.length)) {
      const parents = this.#parentsOf(operation)
      const numbers = Array.from({ length: this.#options.records }, (_, index) => index)
      await Promise.all(
        numbers.map((index) => this.#createOne(operation, parents[index % parents.length] ?? {}, index)),
      )
    }
  }

  async #createOne(operation: Operation, params: Readonly<Record<string, string>>, index: number): Promise<void> {
    const random = new Random(this.#options.seed, -1 - index)
    // What a drawn body breaks is a rule between its members; another one will do.
    let refusal = ''
    for (let attempt = 0; attempt < 60; attempt++) {
      const body = textOfJson(valueOf(operation.body?.schema ?? {}, random, this.#lexicon()))
      const { status, answer } = await this.#call('POST', pathOf(operation.path, params), body)
      refusal = JSON.stringify(answer)
      if (status !== 201) continue
      const { id, triggerUrl } = answer as { id: string; triggerUrl?: string }
      this.#uses.set(id, index < kept ? 'kept' : 'spent')
      if (triggerUrl !== undefined) this.#hashes.set(id, triggerUrl.slice(triggerUrl.lastIndexOf('/') + 1))
      const own = this.#ownOf(operation)
      if (own !== undefined) this.#place(own, { ...params, [own]: id })
      return
    }
    throw new Error(`Nothing that was drawn for ${operation.name} made a record: ${refusal}`)
  }

  /** Leads at the imports that are kept, which the service makes rows of. */
  async push(): Promise<void> {
    for (const operation of this.#operations(({ ids }) => ids.includes('hash'))) {
      const imports = [...this.#places.values()].filter(({ own, use }) => own === 'importId' && use === 'kept')
      for (const [index, { params }] of imports.entries()) {
        for (const part of [0, 1, 2]) {
          const random = new Random(this.#options.seed, -100 - 3 * index - part)
          const body = textOfJson(valueOf(operation.body?.schema ?? {}, random, this.#lexicon()))
          await this.#call('POST', pathOf(operation.path, params), body)
        }
      }
    }
  }

  /** Reads every list, so that each record is known by every path that names it. */
  async find(): Promise<void> {
    const lists = this.#operations(({ method }) => method === 'GET')
    for (const list of lists.sort((left, right) => left.ids.length - right.ids.length)) {
      const own = this.#ownOf(list)
      if (own === undefined) continue
      await Promise.all(this.#parentsOf(list).map((params) => this.#readList(list, own, params)))
    }
  }

  async #readList(list: Operation, own: string, params: Readonly<Record<string, string>>): Promise<void> {
    const path = pathOf(list.path, params)
    const { answer, link } = await this.#call('GET', `${path}?limit=100`)
    for (const { id } of answer as { id: string }[]) {
      // A key that was not made here may be what requests carry: none of them may change it.
      if (own !== 'apiKeyId' || this.#uses.has(id)) this.#place(own, { ...params, [own]: id })
    }
    if (this.#cursors.has(list.path) || (answer.length as number) < 2) return
    const { link: next } = await this.#call('GET', `${path}?limit=1`)
    const [, cursor] = /[?&]startingAfter=(cur_[\w-]+)/.exec(next ?? link ?? '') ?? []
    if (cursor !== undefined) this.#cursors.set(list.path, cursor)
  }

  /** A third of those that are not kept. */
  async deleteSome(): Promise<void> {
    for (const { ids, path, method } of this.#options.contract.operations) {
      if (method !== 'DELETE' || !path.endsWith(`{${ids.at(-1)}}`)) continue
      const spent = [...this.#places.values()].filter((place) => place.use === 'spent' && isNamedBy(ids, place))
      for (const place of spent.filter((_, index) => index % 3 === 0)) {
        const { status } = await this.#call('DELETE', pathOf(path, place.params))
        if (status === 204) this.#uses.set(place.params[place.own] ?? '', 'deleted')
      }
    }
  }

  population(): Population {
    const { account } = this.#options
    const places = [...this.#places.values()].map((place) => ({
      ...place,
      use: this.#uses.get(place.params[place.own] ?? '') ?? place.use,
    }))
    return { account, lexicon: this.#lexicon(), places, cursors: this.#cursors }
  }

  #operations(wanted: (operation: Operation) => boolean): Operation[] {
    return this.#options.contract.operations
      .filter((operation) => !operation.isAccount && (operation.isSecured || operation.ids.length > 0))
      .filter(wanted)
  }

  /** The parameter that names a record of the list: there is a path with it behind the list's. */
  #ownOf({ path }: Operation): string | undefined {
    const one = this.#options.contract.operations.find(
      (other) => /^\/\{\w+\}$/.test(other.path.slice(path.length)) && other.path.startsWith(path),
    )
    return one?.ids.at(-1)
  }

  /** The ids that the path of a collection can have. */
  #parentsOf({ ids }: Operation): Readonly<Record<string, string>>[] {
    if (ids.length === 0) return [{}]
    return [...this.#places.values()]
      .filter((place) => place.use === 'kept' && isNamedBy(ids, place))
      .map(({ params }) => params)
  }

  #place(own: string, params: Record<string, string>): void {
    const id = params[own] ?? ''
    this.#learn(id)
    const hash = this.#hashes.get(id)
    const use = this.#uses.get(id) ?? 'kept'
    const all = hash === undefined || own !== 'importId' ? params : { ...params, hash }
    this.#places.set(Object.values(all).join(), { own, params: all, use })
  }

  #learn(id: string): void {
    const prefix = id.slice(0, 3)
    const known = this.#ids.get(prefix) ?? []
    if (!known.includes(id)) this.#ids.set(prefix, [...known, id])
  }

  #lexicon(): Lexicon {
    const { words, domain } = this.#options
    return { words, domain, ids: this.#ids }
  }

  async #call(method: string, path: string, body?: string) {
    const { port, account } = this.#options
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${account.apiKey}`,
        'service-organization-id': account.organizationId,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    })
    const text = await answer.text()
    if (answer.status >= 500 || answer.status === 401) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    const value: unknown = text === '' ? undefined : JSON.parse(text)
    return { status: answer.status, answer: value as Schema | Schema[], link: answer.headers.get('link') }
  }
}

/** Can a path with these parameters name the record? The secret of an import is part of what names it. */
export const isNamedBy = (ids: readonly string[], { own, params }: Place): boolean =>
  ids.filter((name) => name !== 'hash').at(-1) === own && ids.every((name) => params[name] !== undefined)

/** The path with the ids in it. */
export const pathOf = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? 'none')
