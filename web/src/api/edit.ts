import { type Answer, send, unanswered } from './client.ts'
import { askAboutConflict } from './conflict.ts'
import { ApiError } from './error.ts'
import { whileSaving } from '../preferences/drafts.ts'
import { type RecordData, valueAt } from './schema.ts'

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

/** Merges lists that two people have changed (merge-lists.ts): loaded then, because it is rare. */
export const mergeLists = async (before: unknown, mine: unknown, theirs: unknown): Promise<unknown> =>
  (await import('./merge-lists.ts')).mergeLists(before, mine, theirs)

/** Values by the paths of their fields, such as `customProperties.plan`. */
export type Values = Readonly<Record<string, unknown>>

export interface Edit {
  /** The path of the record. */
  path: string
  /** The resource's name in the schema. */
  resource: string
  /** The record as the person saw it when they started to edit. */
  seen: object
  /** The entered values. Unchanged ones are not sent. */
  values: Values
  /** The record behind a chosen reference. */
  shown?: unknown
  /** For positions in an order, the last write wins. */
  isMove?: boolean
}

/** Options to edit a record of a resource without parents. */
export const editOf = (resource: string, seen: { id: string }): Omit<Edit, 'values'> => ({
  path: `/v5/${resource}/${seen.id}`,
  resource,
  seen,
})

export interface Edited<T> extends Answer<T> {
  /** True if somebody else changed the same lists meanwhile; the record then has both changes. */
  isMerged: boolean
}

/** Values that this tab has stored, by field. */
type OwnValues = ReadonlyMap<string, unknown>

/** By path of a record: the values once the changes in progress are stored. */
const storing = new Map<string, Promise<OwnValues>>()

/**
 * Stores the changes of one record one at a time. `store` gets the values that earlier changes have stored: the person
 * knows them, even if the page still showed older ones when they clicked.
 */
export function inTurn<T>(
  path: string,
  store: (own: OwnValues) => Promise<T>,
  storedBy: (result: T) => OwnValues,
): Promise<T> {
  const before = storing.get(path) ?? Promise.resolve<OwnValues>(new Map())
  const result = before.then(store)
  const after = result.then(
    async (stored) => new Map([...(await before), ...storedBy(stored)]),
    () => before,
  )
  storing.set(path, after)
  void after.then(() => storing.get(path) === after && storing.delete(path))
  return result
}

export const isStoring = (): boolean => storing.size > 0 || unanswered.size > 0

/** Waits until no change is in progress and the callers of the last ones have run. */
export async function whenStored(): Promise<void> {
  do {
    await Promise.allSettled([...storing.values(), ...unanswered])
    await new Promise((resolve) => setTimeout(resolve))
  } while (isStoring())
}

/** A limit: nobody else can change the record that often during one request. */
const maxAttempts = 20

/**
 * Changes a record without overwriting anything that the person has not seen. Edited fields that somebody else has
 * changed since are merged if they are lists; otherwise the person chooses. Other fields never conflict.
 */
export const sendEdit = <T extends object = RecordData>(edit: Edit): Promise<Edited<T>> =>
  whileSaving(() =>
    inTurn(
      edit.path,
      (own) => storeEdit<T>(edit, own),
      ({ body }) => new Map(Object.keys(edit.values).map((field) => [field, valueAt(body as RecordData, field)])),
    ),
  )

async function storeEdit<T extends object>(edit: Edit, own: OwnValues): Promise<Edited<T>> {
  const seen = new Map(Object.keys(edit.values).map((field) => [field, valueAt(edit.seen as RecordData, field)]))
  const latest = (field: string): unknown => (own.has(field) ? own.get(field) : seen.get(field))
  const wanted = new Map(
    Object.entries(edit.values).filter(([field, value]) => edit.isMove === true || !isSame(value, latest(field))),
  )
  let isMerged = false
  for (let attempt = 0; ; attempt++) {
    const current = await send<T>('GET', edit.path, { precedesChange: true })
    const changes: [string, unknown][] = []
    for (const [field, mine] of wanted) {
      const theirs = valueAt(current.body as RecordData, field)
      if (isSame(theirs, mine)) continue
      const before = seen.get(field)
      const isOwn = own.has(field) && isSame(theirs, own.get(field))
      const isUntouched = edit.isMove === true || isSame(theirs, before)
      // Includes what this tab has added to a list meanwhile: that is nobody else's change.
      const merged = isUntouched ? mine : ((await mergeLists(before, mine, theirs)) ?? (isOwn ? mine : undefined))
      if (merged === undefined && (await choose(edit, field, current.body)) === 'theirs') wanted.delete(field)
      else changes.push([field, merged ?? mine])
      if (!isUntouched && !isOwn && merged !== undefined) isMerged = true
      // From now on, this is the state that the person has seen.
      if (merged === undefined) seen.set(field, theirs)
    }
    const toSend = changes.filter(([field, value]) => !isSame(value, valueAt(current.body as RecordData, field)))
    if (toSend.length === 0) return { ...current, isMerged }
    try {
      const ifMatch = isOfRecord(current.etag) ? { ifMatch: current.etag } : {}
      return { ...(await send<T>('PATCH', edit.path, { body: bodyOf(toSend), ...ifMatch })), isMerged }
    } catch (error) {
      if (!isOutdated(error) || attempt === maxAttempts) throw error
    }
  }
}

const choose = ({ resource, path, values, shown }: Edit, field: string, current: object) =>
  askAboutConflict({ resource, path, field, mine: values[field], current: current as RecordData, shown })

/** Has the record changed since its entity tag was read? */
export const isOutdated = (error: unknown): boolean => error instanceof ApiError && error.status === 412

/** Only records have a revision, which a proxy may have marked as weak; other entity tags cannot be matched. */
const isOfRecord = (etag: string | undefined): etag is string => etag !== undefined && /^(?:W\/)?"\d+-/.test(etag)

/** Builds the body of a PATCH; paths into the same object share it. */
export function bodyOf(values: readonly (readonly [path: string, value: unknown])[]): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const [path, value] of values) {
    const [name = '', ...rest] = path.split('.')
    if (rest.length === 0) body[name] = value
    else body[name] = { ...(body[name] as object | undefined), ...bodyOf([[rest.join('.'), value]]) }
  }
  return body
}
