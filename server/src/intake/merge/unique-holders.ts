import { type Finding, finding } from '../imports/resource.ts'
import { type Draft, objectOf } from './draft.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

/** A value of a unique custom property that a batch brings. */
export interface UniqueValue {
  part: 'contact' | 'company'
  property: string
  value: JsonValue
  /** Equal values of a property have the same. */
  digest: string
  /** Uuid of the record that has the value; null if none has it. */
  holder: string | null
}

/** The records that have values of unique custom properties: as they are stored, and with each row as they will be. */
export class UniqueHolders {
  readonly #digests = new Map<string, string>()
  readonly #holders = new Map<string, string>()

  constructor(values: readonly UniqueValue[] = []) {
    for (const { part, property, value, digest, holder } of values) {
      const unique = `${part}.${property} ${digest}`
      this.#digests.set(keyOf(part, property, value), unique)
      if (holder !== null) this.#holders.set(unique, holder)
    }
  }

  /** The values without those that another record has; a warning for each of these. */
  withoutTaken({ id, resource }: Draft, values: JsonObject, warnings: Finding[]): JsonObject {
    if (this.#digests.size === 0 || values.customProperties === undefined) return values
    const free: JsonObject = {}
    for (const [name, value] of Object.entries(objectOf(values.customProperties))) {
      const holder = this.#holders.get(this.#digests.get(keyOf(resource.singular, name, value)) ?? '')
      if (holder === undefined || holder === id) free[name] = value
      else {
        const path = `${resource.singular}.customProperties.${name}`
        warnings.push(finding('unusable_value', path, `another ${resource.singular} has this value`))
      }
    }
    return { ...values, customProperties: free }
  }

  /** Takes note of a change: the record has its new values, and gives up its previous ones. */
  update({ id, resource, state }: Draft, before: Readonly<JsonObject>): void {
    if (this.#digests.size === 0 || state.customProperties === before.customProperties) return
    const uniquesOf = ({ customProperties }: Readonly<JsonObject>) =>
      Object.entries(objectOf(customProperties)).flatMap(
        ([name, value]) => this.#digests.get(keyOf(resource.singular, name, value)) ?? [],
      )
    for (const unique of uniquesOf(before)) if (this.#holders.get(unique) === id) this.#holders.delete(unique)
    for (const unique of uniquesOf(state)) this.#holders.set(unique, id)
  }
}

const keyOf = (part: string, property: string, value: JsonValue): string =>
  `${part}.${property} ${JSON.stringify(value)}`
