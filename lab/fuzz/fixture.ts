import { setTimeout } from 'node:timers/promises'
import type { Account } from '../shared/service.ts'
import { type Contract, type Operation, type Schema } from './document.ts'
import { textOf as textOfJson } from './json.ts'
import { Random } from './random.ts'
import { type Lexicon, valueOf } from './values.ts'

/** A record that a path can refer to. */
export interface RecordRef {
  /** The parameter that identifies it, such as `contactId`. */
  idParameter: string
  /** The ids of the path, by parameter. */
  params: Readonly<Record<string, string>>
  /** Any request may delete or disable an `expendable` record; `stable` ones are for all other requests. */
  lifetime: 'stable' | 'expendable' | 'deleted'
}

/** An organization with records. */
export interface Population {
  account: Account
  lexicon: Lexicon
  refs: readonly RecordRef[]
  /** Signed cursors, by the path of their list. */
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
  /** The seed of the run; negative numbers keep these draws apart from those of the requests. */
  seed: number
}

/** Number of stable records of each kind. */
const stableCount = 4

/** Fills an organization with records of every kind that the document can create. */
export async function populate(options: PopulationOptions): Promise<Population> {
  const populator = new Populator(options)
  await populator.create()
  await populator.push()
  await populator.find()
  await populator.deleteSome()
  return populator.population()
}

/** Different from the counts of the example data. */
const returnsRecord = (contents: ReadonlyMap<string, Schema> | undefined): boolean =>
  [...(contents?.values() ?? [])].some(({ properties }) => Object.hasOwn((properties ?? {}) as Schema, 'id'))

class Populator {
  readonly #options: PopulationOptions
  readonly #ids = new Map<string, string[]>()
  readonly #refs = new Map<string, RecordRef>()
  readonly #lifetimes = new Map<string, RecordRef['lifetime']>()
  readonly #cursors = new Map<string, string>()
  readonly #hashes = new Map<string, string>()

  constructor(options: PopulationOptions) {
    const { account } = options
    this.#options = options
    for (const id of [account.organizationId, account.teamId, account.userId, account.importId]) this.#learn(id)
    this.#hashes.set(account.importId, account.triggerUrl.slice(account.triggerUrl.lastIndexOf('/') + 1))
  }

  /** Creates records of every kind, those without a parent first. */
  async create(): Promise<void> {
    const creators = this.#operations(({ method, responses }) => method === 'POST' && returnsRecord(responses.get(201)))
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
    // A generated body may violate a rule between its properties; then another one is tried. Of some operations, one in
    // twenty is valid: that none of these is happens once in a hundred billion runs.
    let refusal = ''
    for (let attempt = 0; attempt < 500; attempt++) {
      const body = textOfJson(valueOf(operation.body?.schema ?? {}, random, this.#lexicon()))
      const { status, response } = await this.#call('POST', pathOf(operation.path, params), body)
      refusal = JSON.stringify(response)
      if (status !== 201) continue
      const { id, triggerUrl } = response as { id: string; triggerUrl?: string }
      this.#lifetimes.set(id, index < stableCount ? 'stable' : 'expendable')
      if (triggerUrl !== undefined) this.#hashes.set(id, triggerUrl.slice(triggerUrl.lastIndexOf('/') + 1))
      const idParameter = this.#idParameterOf(operation)
      if (idParameter !== undefined) this.#addRef(idParameter, { ...params, [idParameter]: id })
      return
    }
    throw new Error(`No generated body for ${operation.name} created a record: ${refusal}`)
  }

  /** Pushes leads to the stable imports. */
  async push(): Promise<void> {
    for (const operation of this.#operations(({ ids }) => ids.includes('hash'))) {
      const imports = [...this.#refs.values()].filter(
        ({ idParameter, lifetime }) => idParameter === 'importId' && lifetime === 'stable',
      )
      for (const [index, { params }] of imports.entries()) {
        for (const part of [0, 1, 2]) {
          const random = new Random(this.#options.seed, -100 - 3 * index - part)
          const body = textOfJson(valueOf(operation.body?.schema ?? {}, random, this.#lexicon()))
          await this.#call('POST', pathOf(operation.path, params), body)
        }
      }
    }
  }

  /** Reads every list to find each record under every path that refers to it. */
  async find(): Promise<void> {
    const lists = this.#operations(({ method }) => method === 'GET')
    for (const list of lists.sort((left, right) => left.ids.length - right.ids.length)) {
      const idParameter = this.#idParameterOf(list)
      if (idParameter === undefined) continue
      await Promise.all(this.#parentsOf(list).map((params) => this.#readList(list, idParameter, params)))
    }
  }

  async #readList(list: Operation, idParameter: string, params: Readonly<Record<string, string>>): Promise<void> {
    const path = pathOf(list.path, params)
    const { response, link } = await this.#call('GET', `${path}?limit=100`)
    for (const { id } of response as { id: string }[]) {
      // Requests use the existing keys, so they must not change them.
      if (idParameter !== 'apiKeyId' || this.#lifetimes.has(id))
        this.#addRef(idParameter, { ...params, [idParameter]: id })
    }
    if (this.#cursors.has(list.path) || (response.length as number) < 2) return
    const { link: next } = await this.#call('GET', `${path}?limit=1`)
    const [, cursor] = /[?&]startingAfter=(cur_[\w-]+)/.exec(next ?? link ?? '') ?? []
    if (cursor !== undefined) this.#cursors.set(list.path, cursor)
  }

  /** Deletes a third of the expendable records. */
  async deleteSome(): Promise<void> {
    for (const { ids, path, method } of this.#options.contract.operations) {
      if (method !== 'DELETE' || !path.endsWith(`{${ids.at(-1)}}`)) continue
      const expendable = [...this.#refs.values()].filter((ref) => ref.lifetime === 'expendable' && isNamedBy(ids, ref))
      for (const ref of expendable.filter((_, index) => index % 3 === 0)) {
        const { status } = await this.#call('DELETE', pathOf(path, ref.params))
        if (status === 204) this.#lifetimes.set(ref.params[ref.idParameter] ?? '', 'deleted')
      }
    }
  }

  population(): Population {
    const { account } = this.#options
    const refs = [...this.#refs.values()].map((ref) => ({
      ...ref,
      lifetime: this.#lifetimes.get(ref.params[ref.idParameter] ?? '') ?? ref.lifetime,
    }))
    return { account, lexicon: this.#lexicon(), refs, cursors: this.#cursors }
  }

  #operations(predicate: (operation: Operation) => boolean): Operation[] {
    return this.#options.contract.operations
      .filter((operation) => !operation.isAccount && (operation.isSecured || operation.ids.length > 0))
      .filter(predicate)
  }

  /** The parameter that identifies a record of the list, if a path extends the list's path with it. */
  #idParameterOf({ path }: Operation): string | undefined {
    const recordOperation = this.#options.contract.operations.find(
      (other) => /^\/\{\w+\}$/.test(other.path.slice(path.length)) && other.path.startsWith(path),
    )
    return recordOperation?.ids.at(-1)
  }

  /** The possible parents of a collection. */
  #parentsOf({ ids }: Operation): Readonly<Record<string, string>>[] {
    if (ids.length === 0) return [{}]
    return [...this.#refs.values()]
      .filter((ref) => ref.lifetime === 'stable' && isNamedBy(ids, ref))
      .map(({ params }) => params)
  }

  #addRef(idParameter: string, params: Record<string, string>): void {
    const id = params[idParameter] ?? ''
    this.#learn(id)
    const hash = this.#hashes.get(id)
    const lifetime = this.#lifetimes.get(id) ?? 'stable'
    const all = hash === undefined || idParameter !== 'importId' ? params : { ...params, hash }
    this.#refs.set(Object.values(all).join(), { idParameter, params: all, lifetime })
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

  /** If the service is overloaded, retries after the time that it returns. */
  async #call(
    method: string,
    path: string,
    body?: string,
    attempts = 10,
  ): Promise<{ status: number; response: Schema | Schema[]; link: string | null }> {
    const { port, account } = this.#options
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${account.apiKey}`,
        'service-organization-id': account.organizationId,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    const wait = Number(response.headers.get('retry-after'))
    if (response.status === 503 && attempts > 1) {
      await setTimeout(wait * 1000)
      return this.#call(method, path, body, attempts - 1)
    }
    if (response.status >= 500 || response.status === 401)
      throw new Error(`${method} ${path}: ${response.status} ${text}`)
    const value: unknown = text === '' ? undefined : JSON.parse(text)
    return { status: response.status, response: value as Schema | Schema[], link: response.headers.get('link') }
  }
}

/** Whether a path with these parameters can refer to the record. An import also requires its secret. */
export const isNamedBy = (ids: readonly string[], { idParameter, params }: RecordRef): boolean =>
  ids.filter((name) => name !== 'hash').at(-1) === idParameter && ids.every((name) => params[name] !== undefined)

/** The path with the ids in it. */
export const pathOf = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? 'none')
