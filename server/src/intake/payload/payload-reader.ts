import { type FieldError, maxSuggestions } from '../../platform/model/errors.ts'
import { suggest } from '../../platform/model/suggestions.ts'
import { parseValue } from '../../platform/records/request/body.ts'
import { mergePatch } from '../../platform/records/declare/json-objects.ts'
import { isBlank as isBlankText, trimmed } from '../../platform/model/text.ts'
import { type Finding, finding, type FindingCode } from '../imports/resource.ts'
import { convert, maxExaminedItems } from './conversions.ts'
import {
  isPlaceholder,
  isPlaceholderAddress,
  isPlaceholderPhone,
  isUnfilledName,
} from '../../platform/model/placeholders.ts'
import {
  aliases,
  externalId,
  externalIdForm,
  isLongText,
  type PayloadProperty,
  type PayloadObject,
  typeOf,
} from './payload-fields.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'
import type { Field } from '../../platform/records/declare/field.ts'

/** Maximum number of errors or warnings of a push. */
const maxReported = 100
/** Maximum number of characters shown of a name chosen by the sender. */
const maxNameLength = 100

export const isObject = (value: JsonValue): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isBlank = (value: JsonValue): boolean =>
  value === null || (typeof value === 'string' && isBlankText(value))

/** A property of a pushed object, with any name; null if absent. */
export const ownValue = (object: JsonObject, name: string): JsonValue =>
  Object.hasOwn(object, name) ? (object[name] ?? null) : null

/** A name chosen by the sender, shortened for a path. */
export function displayName(name: string): string {
  if (name === '') return '""'
  return name.length > maxNameLength
    ? `${[...name.slice(0, 2 * maxNameLength)].slice(0, maxNameLength).join('')}…`
    : name
}

const jsonTypes = {
  string: 'a string',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'an array of strings',
  object: 'an object',
}

/** A longer text is not a placeholder, and need not be checked. */
const maxPlaceholderLength = 400
const placeholderMessage = 'stands for a missing value'

/**
 * Cache of suggestions: each sender repeats its own unknown names, and computing a suggestion takes 5 µs. It is
 * bounded, because senders choose the names.
 */
const suggestionCache = new Map<PayloadObject, Map<string, string | undefined>>()
const maxCachedSuggestions = 1000

function suggestionFor(name: string, part: PayloadObject): string | undefined {
  const cached = suggestionCache.get(part) ?? new Map<string, string | undefined>()
  suggestionCache.set(part, cached)
  if (cached.has(name)) return cached.get(name)
  const suggestion = suggest(name, part.names)
  if (cached.size < maxCachedSuggestions && name.length <= maxNameLength) cached.set(name, suggestion)
  return suggestion
}

/** Does the text stand for a missing value where one would identify or name a record? */
function isPlaceholderFor({ field, identifies, isPersonName }: PayloadProperty, text: string): boolean {
  if (text.length > maxPlaceholderLength) return false
  if (isPersonName) return isUnfilledName(text)
  // Their words are checked.
  if (field.type === 'choice' || field.type === 'month') return isPlaceholder(text)
  if (!identifies) return false
  if (field.type === 'phone') return isPlaceholder(text) || isPlaceholderPhone(text)
  return isPlaceholder(text) || (field.type === 'email' && isPlaceholderAddress(text))
}

/** Reads the objects of a push and collects errors and warnings. */
export class PayloadReader {
  /** Errors that reject the push. */
  readonly errors: FieldError[]
  readonly #warnings: Finding[] = []
  #unlisted = 0
  #unknownCount = 0

  constructor(errors: FieldError[] = []) {
    this.errors = errors
  }

  get warnings(): Finding[] {
    const last = this.#warnings.at(-1)
    if (!last || this.#unlisted === 0) return this.#warnings
    return [
      ...this.#warnings.slice(0, -1),
      { ...last, message: `${last.message}; ${this.#unlisted} more are not listed` },
    ]
  }

  /** The push is rejected, and no more errors would be reported. */
  get isFull(): boolean {
    return this.errors.length >= maxReported
  }

  reject(field: string, message: string): void {
    if (this.errors.length < maxReported) this.errors.push({ field, message })
  }

  warn(code: FindingCode, path: string, message: string): void {
    if (this.#warnings.length < maxReported) this.#warnings.push(finding(code, path, message))
    else this.#unlisted += 1
  }

  /** The usable values of an object by name; aliases are replaced by the names that they stand for. */
  readObject(object: JsonObject, prefix: string, part: PayloadObject): JsonObject {
    const values: JsonObject = {}
    const externalIds: JsonObject = {}
    for (const name of Object.keys(object)) {
      const value = object[name] ?? null
      const property = part.properties.get(name)
      if (property) {
        const read = this.#value(property, prefix, name, value)
        if (read !== undefined) values[name] = read
      } else if (part.externalIds && externalIdForm.test(name)) {
        this.#externalId(part.externalIds, externalIds, prefix, name, value)
      } else if (!part.parts.includes(name)) {
        this.#unknown(part, prefix, name)
      }
    }
    for (const [alias, name] of aliases) {
      if (values[alias] !== undefined) this.#resolveAlias(values, prefix, alias, name)
    }
    if (Object.keys(externalIds).length > 0) values.externalIds = externalIds
    return values
  }

  /** The value in stored form. An invalid value causes a warning or, if strict, an error. */
  usable(field: Field, prefix: string, name: string, value: JsonValue, isStrict = false): JsonValue | undefined {
    const read = parseValue(field, name, value, 'create')
    if (!Array.isArray(read)) return read.value
    const message = read.map((error) => error.message).join(', ')
    if (isStrict) this.reject(`${prefix}${name}`, message)
    else this.warn('unusable_value', `${prefix}${name}`, message)
    return undefined
  }

  #value(property: PayloadProperty, prefix: string, name: string, given: JsonValue): JsonValue | undefined {
    const { field } = property
    const path = `${prefix}${name}`
    const value = this.#converted(property, path, given)
    if (value === undefined || isBlank(value)) return undefined
    if (Array.isArray(value)) return this.#list(property, path, value)
    if (isObject(value)) return this.#properties(field, path, value)
    if (typeof value !== 'string') return this.usable(field, prefix, name, value, property.isStrict)
    if (isPlaceholderFor(property, value)) return this.#leaveOut('placeholder', path, placeholderMessage)
    // Multi-line text is stored as it was sent.
    const read = this.usable(field, prefix, name, isLongText(property) ? value : trimmed(value), property.isStrict)
    if (typeof read === 'string' && isPlaceholderFor(property, read))
      return this.#leaveOut('placeholder', path, placeholderMessage)
    return read
  }

  /** The value in the JSON type of its field; undefined if it is left out, with a warning or an error. */
  #converted(property: PayloadProperty, path: string, given: JsonValue): JsonValue | undefined {
    const converted = convert(property.field, given)
    if (!converted) {
      if (typeof given === 'string' && given.length <= maxPlaceholderLength && isPlaceholder(given))
        return this.#leaveOut('placeholder', path, placeholderMessage)
      const message = `expected ${jsonTypes[typeOf(property)]} or null`
      if (property.isAdditional) return this.#leaveOut('unusable_value', path, message)
      this.reject(path, message)
      return undefined
    }
    if ('leftOut' in converted) return this.#leaveOut('unusable_value', path, converted.leftOut)
    if (converted.loss !== undefined) this.warn('shortened_value', path, converted.loss)
    return converted.value
  }

  #leaveOut(code: FindingCode, path: string, message: string): undefined {
    this.warn(code, path, message)
    return undefined
  }

  /** The usable items of a list, up to the limit of the field. */
  #list({ field, isAdditional }: PayloadProperty, path: string, items: JsonValue[]): JsonValue | undefined {
    if (items.length === 0) return undefined
    const max = Number(field.schema.maxItems)
    const isTrimmed = items.length <= max && items.every((item) => typeof item === 'string' && trimmed(item) === item)
    const complete = isTrimmed && parseValue(field, path, items, 'create')
    if (complete && !Array.isArray(complete)) return complete.value
    const usable = new Set<JsonValue>()
    for (const [index, item] of items.entries()) {
      if (this.isFull) break
      if ((typeof item === 'object' && item !== null) || typeof item === 'boolean') {
        if (isAdditional) this.warn('unusable_value', `${path}.${index}`, 'expected a string')
        else this.reject(`${path}.${index}`, 'expected a string')
      } else if (usable.size <= max && index < maxExaminedItems) {
        const text = trimmed(String(item ?? ''))
        if (this.#isUsableItem(field, `${path}.${index}`, text)) usable.add(text)
      }
    }
    if (usable.size > max || items.length > maxExaminedItems)
      this.warn('unusable_value', path, `expected at most ${max} items; the rest was left out`)
    return usable.size > 0 ? [...usable].slice(0, max) : undefined
  }

  /** The usable custom properties. Nulls and blank texts count as absent, at any depth of objects. */
  #properties(field: Field, path: string, values: JsonObject): JsonValue | undefined {
    const usable: JsonObject = {}
    for (const [key, value] of Object.entries(values).slice(0, Number(field.schema.maxProperties))) {
      if (isBlank(value)) continue
      const present = { [key]: mergePatch({}, value) }
      const read = this.usable(field, `${path}.`, displayName(key), present)
      if (read !== undefined) Object.assign(usable, read)
    }
    if (Object.keys(values).length > Number(field.schema.maxProperties))
      this.warn(
        'unusable_value',
        path,
        `expected at most ${Number(field.schema.maxProperties)} properties; the rest was left out`,
      )
    if (Object.keys(usable).length === 0) return undefined
    const [before, name] = [path.slice(0, path.lastIndexOf('.') + 1), path.slice(path.lastIndexOf('.') + 1)]
    return this.usable(field, before, name, usable)
  }

  #isUsableItem(field: Field, path: string, item: string): boolean {
    if (isBlank(item)) {
      this.warn('unusable_value', path, 'is blank')
      return false
    }
    const read = parseValue(field, path, [item], 'create')
    if (Array.isArray(read)) for (const { message } of read) this.warn('unusable_value', path, message)
    return !Array.isArray(read)
  }

  #externalId(field: Field, externalIds: JsonObject, prefix: string, name: string, value: JsonValue): void {
    const path = `${prefix}${name}`
    const id = this.#converted(externalId, path, value)
    if (typeof id !== 'string' || isBlank(id)) return
    if (id.length <= maxPlaceholderLength && isPlaceholder(id))
      return this.warn('placeholder', path, placeholderMessage)
    const max = Number(field.schema.maxProperties)
    if (Object.keys(externalIds).length === max) {
      return this.warn('unusable_value', path, `exceeds the limit of ${max}`)
    }
    const [, provider = ''] = externalIdForm.exec(name) ?? []
    Object.assign(externalIds, this.usable(field, prefix, name, { [provider]: id.trim() }))
  }

  /** The name itself takes precedence over its alias. */
  #resolveAlias(values: JsonObject, prefix: string, alias: string, name: string): void {
    const value = values[alias] ?? null
    delete values[alias]
    if (values[name] === undefined) values[name] = value
    else if (values[name] !== value) this.warn('unusable_value', `${prefix}${alias}`, `${name} has a different value`)
  }

  #unknown(part: PayloadObject, prefix: string, name: string): void {
    this.#unknownCount += 1
    const suggestion = this.#unknownCount <= maxSuggestions ? suggestionFor(name, part) : undefined
    const message = suggestion === undefined ? 'unknown field' : `unknown field; did you mean ${suggestion}?`
    this.warn('unknown_member', `${prefix}${displayName(name)}`, message)
  }
}
