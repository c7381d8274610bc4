import { isDeepStrictEqual } from 'node:util'
import type { BodyError } from '../../platform/model/errors.ts'
import {
  emailList,
  entriesOf,
  keyIn,
  maxAddresses,
  newEntry,
  phoneList,
  storedEntries,
} from '../../platform/records/declare/address-lists.ts'
import type { AddressList } from '../../platform/records/declare/field.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

interface ListKind {
  name: string
  /** What the caller says to keep the former primary address. */
  keepName: string
  list: AddressList
}

const kinds: readonly ListKind[] = [
  {
    name: 'emails',
    keepName: 'keepFormerEmail',
    list: emailList({ label: '', description: '', primary: 'email' }).list,
  },
  {
    name: 'phones',
    keepName: 'keepFormerPhone',
    list: phoneList({ label: '', description: '', primary: 'phone' }).list,
  },
]

interface PreparedAddresses {
  values: JsonObject
  hidden: Record<string, JsonValue>
  errors: BodyError[]
}

/** Makes the primary addresses and the lists agree, whichever of them were sent. */
export function prepareAddresses(sent: JsonObject, current: JsonObject | undefined): PreparedAddresses {
  const prepared: PreparedAddresses = { values: { ...sent }, hidden: {}, errors: [] }
  for (const kind of kinds) prepareList(kind, sent, current, prepared)
  return prepared
}

function prepareList(
  kind: ListKind,
  sent: JsonObject,
  current: JsonObject | undefined,
  { values, hidden, errors }: PreparedAddresses,
): void {
  const { name, keepName, list } = kind
  delete values[keepName]
  const before = entriesOf(list, name, current ?? {})
  // In a new record, null means that the field was not sent.
  const isSent = (field: string) => (current ? field in sent : (sent[field] ?? null) !== null)
  if (!isSent(name) && !isSent(list.primary)) {
    if (sent[keepName] === true) errors.push({ field: keepName, message: `needs a new ${list.primary}` })
    return
  }
  const after = isSent(name) ? fromList(kind, sent, before, isSent) : fromPrimary(kind, sent, before)
  if ('field' in after) {
    errors.push(after)
    delete values[name]
    return
  }
  const [old, stored] = [storedEntries(list, before), storedEntries(list, after.entries)]
  const primary = after.entries.find((entry) => entry.primary === true)
  values[list.primary] = primary?.[list.item] ?? null
  delete values[name]
  // What the primary address says alone does not change the list.
  if (isDeepStrictEqual(old, stored)) return
  values[name] = after.entries
  hidden[name] = stored
}

type Result = { entries: JsonObject[] } | BodyError

/** The list as it was sent, with what only the service knows of each address. */
function fromList(
  { name, keepName, list }: ListKind,
  sent: JsonObject,
  before: readonly JsonObject[],
  isSent: (field: string) => boolean,
): Result {
  const given = sent[name] as JsonObject[]
  const primary = given.find((entry) => entry.primary === true)?.[list.item] ?? null
  if (isSent(list.primary) && sent[list.primary] !== primary)
    return {
      field: list.primary,
      message: `disagrees with ${name}, whose primary entry must have the same ${list.item}`,
    }
  if (sent[keepName] === true) return { field: keepName, message: `cannot be combined with ${name}` }
  const entries: JsonObject[] = []
  for (const [index, entry] of given.entries()) {
    const key = keyIn(list, String(entry[list.item]))
    const known = before.find((one) => keyIn(list, String(one[list.item])) === key)
    for (const more of list.moreNames) {
      const value = known?.[more] ?? null
      if ((entry[more] ?? value) !== value) return { field: `${name}.${index}.${more}`, message: 'is read-only' }
      entry[more] = value
    }
    entries.push(entry)
  }
  return { entries }
}

/** A new primary address takes the place of the former one, which stays as a further one if the caller says so. */
function fromPrimary({ keepName, list }: ListKind, sent: JsonObject, before: readonly JsonObject[]): Result {
  const address = sent[list.primary]
  const former = before.find((entry) => entry.primary === true)
  if (typeof address !== 'string') {
    if (sent[keepName] === true) return { field: keepName, message: `cannot be combined with ${list.primary}: null` }
    return before.some((entry) => entry.primary !== true)
      ? { field: list.primary, message: `other entries exist: send the whole list, or [] to remove all` }
      : { entries: [] }
  }
  const key = keyIn(list, address)
  const known = before.find((entry) => keyIn(list, String(entry[list.item])) === key)
  const next = known
    ? { ...known, [list.item]: address, primary: true }
    : { ...newEntry(list, address), kind: former?.kind ?? null }
  const others = before.filter((entry) => entry !== known && entry !== former)
  const kept = former && former !== known && sent[keepName] === true ? [{ ...former, primary: false }] : []
  if (others.length + kept.length >= maxAddresses)
    return { field: keepName, message: `there are ${maxAddresses} entries already` }
  const position = former ? before.indexOf(former) : 0
  const rest = before.filter((entry) => others.includes(entry))
  const index = before.slice(0, position).filter((entry) => others.includes(entry)).length
  return { entries: [...rest.slice(0, index), next, ...kept, ...rest.slice(index)] }
}
