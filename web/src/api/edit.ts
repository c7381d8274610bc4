import { type Answer, send, unanswered } from './client.ts'
import { askAboutConflict } from './conflict.ts'
import { ApiError } from './error.ts'
import { mergeLists } from './merge-lists.ts'
import { whileSaving } from '../preferences/drafts.ts'
import { type RecordData, valueAt } from './schema.ts'

export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

/** Values by the paths of their fields, such as `customProperties.plan`. */
export type Values = Readonly<Record<string, unknown>>

export interface Edit {
  /** Of the record. */
  path: string
  /** Its resource, as the description of the API calls it. */
  resource: string
  /** The record as the person saw it when they began. */
  seen: object
  /** What they entered. What is as they saw it is not sent. */
  values: Values
  /** The record behind a chosen reference. */
  shown?: unknown
  /** A place in an order is nobody’s text: the last move counts. */
  isMove?: boolean
}

/** The edit of a record of a resource without parents. */
export const editOf = (resource: string, seen: { id: string }): Omit<Edit, 'values'> => ({
  path: `/v5/${resource}/${seen.id}`,
  resource,
  seen,
})

export interface Edited<T> extends Answer<T> {
  /** Have others changed the same lists meanwhile? Then the record has both changes. */
  isMerged: boolean
}

/** Values that this tab has stored, by field. */
type OwnValues = ReadonlyMap<string, unknown>

/** By the path of a record, what the changes that are being stored will have stored. */
const storing = new Map<string, Promise<OwnValues>>()

/**
 * Stores changes of one record one after the other. `store` gets what those before it have stored: the person knows of
 * it, even if the page showed something older when they clicked.
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

/** Waits until no change is being stored, and those who stored the last ones know of it. */
export async function whenStored(): Promise<void> {
  while (isStoring()) await Promise.allSettled([...storing.values(), ...unanswered])
  await new Promise((resolve) => setTimeout(resolve))
}

/** Others can hardly be so quick. */
const maxAttempts = 20

/**
 * Changes a record without overwriting what the person has not seen: fields that somebody else has changed since are
 * merged if they are lists, and otherwise the person chooses. Fields that only others have changed are no conflict.
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
    const current = await send<T>('GET', edit.path)
    const changes: [string, unknown][] = []
    for (const [field, mine] of wanted) {
      const theirs = valueAt(current.body as RecordData, field)
      if (isSame(theirs, mine)) continue
      const before = seen.get(field)
      const isOwn = own.has(field) && isSame(theirs, own.get(field))
      const isUntouched = edit.isMove === true || isSame(theirs, before)
      // Also with what this tab has added to a list meanwhile, which is nobody else's.
      const merged = isUntouched ? mine : (mergeLists(before, mine, theirs) ?? (isOwn ? mine : undefined))
      if (merged === undefined && (await choose(edit, field, current.body)) === 'theirs') wanted.delete(field)
      else changes.push([field, merged ?? mine])
      if (!isUntouched && !isOwn && merged !== undefined) isMerged = true
      // From now on, this is what the person has seen.
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

/** Only records have a revision, which a proxy may have marked as weak; other answers cannot be matched. */
const isOfRecord = (etag: string | undefined): etag is string => etag !== undefined && /^(?:W\/)?"\d+-/.test(etag)

/** The body of a PATCH; paths of one object share it. */
export function bodyOf(values: readonly (readonly [path: string, value: unknown])[]): Record<string, unknown> {
  const body: Record<string, unknown> = {}
  for (const [path, value] of values) {
    const [name = '', ...rest] = path.split('.')
    if (rest.length === 0) body[name] = value
    else body[name] = { ...(body[name] as object | undefined), ...bodyOf([[rest.join('.'), value]]) }
  }
  return body
}
