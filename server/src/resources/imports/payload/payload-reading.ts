import { type Fault, mostSuggestions } from '../../../platform/model/errors.ts'
import { suggest } from '../../../platform/query/target.ts'
import { readValue } from '../../../platform/resource/body.ts'
import type { Field, JsonObject, JsonValue } from '../../../platform/model/fields.ts'
import { type Finding, finding, type FindingCode } from '../resource.ts'
import { aliases, externalIdForm, isLongText, type Member, type Part, typeOf } from './payload-fields.ts'

/** Faults or warnings told of one push. */
const mostTold = 100
/** Items of a list that are looked at, for those that can be used; the others need only be of the right type. */
export const mostExamined = 1000
/** Characters of a sender's own name that are told. */
const longestName = 100

export const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isBlank = (value: JsonValue): boolean =>
  value === null || (typeof value === 'string' && value.trim() === '')

/** A member of what was pushed, where every name is possible; null when it is absent. */
export const own = (object: JsonObject, name: string): JsonValue =>
  Object.hasOwn(object, name) ? (object[name] ?? null) : null

/** A name that the sender made, fit for a path. */
export function shown(name: string): string {
  if (name === '') return '""'
  return name.length > longestName ? `${[...name.slice(0, 2 * longestName)].slice(0, longestName).join('')}…` : name
}

/** By the type of a field's schema: what a value of it is in JSON, and how that is said. */
const jsonTypes = {
  string: { is: (value: JsonValue) => typeof value === 'string', said: 'a string' },
  integer: { is: (value: JsonValue) => Number.isInteger(value), said: 'an integer' },
  boolean: { is: (value: JsonValue) => typeof value === 'boolean', said: 'a boolean' },
  array: { is: (value: JsonValue) => Array.isArray(value), said: 'an array of strings' },
}

/** What senders probably meant: each repeats its own unknown names, and finding out costs 5 µs. Bounded: they are theirs. */
const meanings = new Map<Part, Map<string, string | undefined>>()
const mostMeanings = 1000

function meantBy(name: string, part: Part): string | undefined {
  const known = meanings.get(part) ?? new Map<string, string | undefined>()
  meanings.set(part, known)
  if (known.has(name)) return known.get(name)
  const meant = suggest(name, part.names)
  if (known.size < mostMeanings && name.length <= longestName) known.set(name, meant)
  return meant
}

/** Reads the objects of a push and collects what is wrong with them. */
export class Reading {
  /** What refuses the push. */
  readonly faults: Fault[]
  readonly #warnings: Finding[] = []
  #untold = 0
  #unknowns = 0

  constructor(faults: Fault[] = []) {
    this.faults = faults
  }

  get warnings(): Finding[] {
    const last = this.#warnings.at(-1)
    if (!last || this.#untold === 0) return this.#warnings
    return [
      ...this.#warnings.slice(0, -1),
      { ...last, message: `${last.message}; ${this.#untold} more are not listed` },
    ]
  }

  /** The push is refused, and nothing more would be told. */
  get isFull(): boolean {
    return this.faults.length >= mostTold
  }

  refuse(field: string, message: string): void {
    if (this.faults.length < mostTold) this.faults.push({ field, message })
  }

  warn(code: FindingCode, path: string, message: string): void {
    if (this.#warnings.length < mostTold) this.#warnings.push(finding(code, path, message))
    else this.#untold += 1
  }

  /** The values of an object that can be used, by their names in the payload; of aliases, by the names that they mean. */
  members(object: JsonObject, prefix: string, part: Part): JsonObject {
    const values: JsonObject = {}
    const externalIds: JsonObject = {}
    for (const name of Object.keys(object)) {
      const value = object[name] ?? null
      const member = part.members.get(name)
      if (member) {
        const read = this.#value(member, prefix, name, value)
        if (read !== undefined) values[name] = read
      } else if (part.externalIds && externalIdForm.test(name)) {
        this.#externalId(part.externalIds, externalIds, prefix, name, value)
      } else if (!part.parts.includes(name)) {
        this.#unknown(part, prefix, name)
      }
    }
    for (const [alias, name] of aliases) {
      if (values[alias] !== undefined) this.#unalias(values, prefix, alias, name)
    }
    if (Object.keys(externalIds).length > 0) values.externalIds = externalIds
    return values
  }

  /** The value in the form that is stored. What cannot be used is warned of, or refuses the push. */
  usable(field: Field, prefix: string, name: string, value: JsonValue, isStrict = false): JsonValue | undefined {
    const read = readValue(field, name, value, 'create')
    if (!Array.isArray(read)) return read.value
    const message = read.map((fault) => fault.message).join(', ')
    if (isStrict) this.refuse(`${prefix}${name}`, message)
    else this.warn('unusable_value', `${prefix}${name}`, message)
    return undefined
  }

  #value(member: Member, prefix: string, name: string, value: JsonValue): JsonValue | undefined {
    if (value === null) return undefined
    const { is, said } = jsonTypes[typeOf(member)]
    if (!is(value)) {
      this.refuse(`${prefix}${name}`, `expected ${said} or null`)
      return undefined
    }
    if (Array.isArray(value)) return this.#words(member.field, `${prefix}${name}`, value)
    if (isBlank(value)) return undefined
    // A text of several lines is stored as it was written.
    const tidy = typeof value === 'string' && !isLongText(member) ? value.trim() : value
    return this.usable(member.field, prefix, name, tidy, member.isStrict)
  }

  /** The items of a list that can be used, as far as the field holds so many. */
  #words(field: Field, path: string, items: JsonValue[]): JsonValue | undefined {
    if (items.length === 0) return undefined
    const most = Number(field.schema.maxItems)
    const isTidy = items.every((item) => typeof item === 'string' && item.trim() === item)
    const whole = isTidy && items.length <= most && readValue(field, path, items, 'create')
    if (whole && !Array.isArray(whole)) return whole.value
    const usable = new Set<JsonValue>()
    let examined = 0
    for (const [index, given] of items.entries()) {
      if (this.isFull) break
      const place = `${path}.${index}`
      const item = typeof given === 'string' ? given.trim() : given
      if (typeof item !== 'string') this.refuse(place, 'expected a string')
      else if (usable.size <= most && examined < mostExamined) {
        examined += 1
        if (this.#isWord(field, place, item)) usable.add(item)
      }
    }
    if (usable.size > most || items.length > mostExamined)
      this.warn('unusable_value', path, `expected at most ${most} items; the rest was left out`)
    return usable.size > 0 ? [...usable].slice(0, most) : undefined
  }

  #isWord(field: Field, path: string, item: string): boolean {
    if (isBlank(item)) {
      this.warn('unusable_value', path, 'is blank')
      return false
    }
    const read = readValue(field, path, [item], 'create')
    if (Array.isArray(read)) for (const { message } of read) this.warn('unusable_value', path, message)
    return !Array.isArray(read)
  }

  #externalId(field: Field, externalIds: JsonObject, prefix: string, name: string, value: JsonValue): void {
    const path = `${prefix}${name}`
    if (value !== null && typeof value !== 'string') return this.refuse(path, 'expected a string or null')
    if (isBlank(value)) return
    const most = Number(field.schema.maxProperties)
    if (Object.keys(externalIds).length === most) {
      return this.warn('unusable_value', path, `exceeds the limit of ${most}`)
    }
    const [, provider = ''] = externalIdForm.exec(name) ?? []
    Object.assign(externalIds, this.usable(field, prefix, name, { [provider]: value }))
  }

  /** The name itself wins over another spelling of it. */
  #unalias(values: JsonObject, prefix: string, alias: string, name: string): void {
    const value = values[alias] ?? null
    delete values[alias]
    if (values[name] === undefined) values[name] = value
    else if (values[name] !== value) this.warn('unusable_value', `${prefix}${alias}`, `${name} has a different value`)
  }

  #unknown(part: Part, prefix: string, name: string): void {
    this.#unknowns += 1
    const meant = this.#unknowns <= mostSuggestions ? meantBy(name, part) : undefined
    const message = meant === undefined ? 'unknown field' : `unknown field; did you mean ${meant}?`
    this.warn('unknown_member', `${prefix}${shown(name)}`, message)
  }
}
