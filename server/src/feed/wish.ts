import { covers } from '../platform/model/scopes.ts'
import { type FieldError, invalidParameters } from '../platform/model/errors.ts'
import { decodeId } from '../platform/model/ids.ts'
import { assertScope } from '../platform/http/effects/denied-scope.ts'
import type { ReadRequest } from '../platform/http/route.ts'
import { type EventKind, eventKinds } from '../platform/records/declare/event-kinds.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { ListError, splitList } from '../platform/records/request/query-string.ts'
import type { FeedRequest } from './page-store.ts'
import { parsePosition, type Position } from './position.ts'

export const defaultLimit = 100
export const maxLimit = 1000
/** Seconds; shorter than the time after which proxies usually give up a response. */
export const maxWait = 25
/** The beginning of the feed, as long as it is kept. */
export const start = 'start'

export const path = '/v5/events'

/** The parameters that choose events, with their descriptions. */
export const filterParameters = {
  resource: 'Only events of these resources: nouns as in scopes, separated by commas.',
  kind: `Only events of these kinds, separated by commas: ${eventKinds.join(', ')}.`,
  record: 'Only events of these records: ids, separated by commas.',
}

/** The scope that shows the events of a resource: that of its list. */
const scopeOf = ({ singular }: Resource): string => `${singular}:list:read`

/** What a reader of the feed asks for. */
export interface Wish extends Omit<FeedRequest, 'after'> {
  /** `start` for the beginning; undefined if the request does not say. */
  after: Position | typeof start | undefined
  /** Milliseconds. */
  wait: number
}

/** `lastId`: where a stream continues that says no `after`. Errors: 400, and 403 for a resource that the caller must not list. */
export async function parseWish(
  { services, caller, client, query }: ReadRequest,
  followed: readonly Resource[],
  lastId?: string,
): Promise<Wish> {
  const errors: FieldError[] = []
  const sent = (name: string) => query.find((parameter) => parameter.name === name)?.value
  const integer = (name: string, { min, max, initial }: { min: number; max: number; initial: number }): number => {
    const value = sent(name)
    if (value === undefined) return initial
    const number = /^\d{1,6}$/.test(value) ? Number(value) : -1
    if (number < min || number > max) errors.push({ field: name, message: `expected an integer from ${min} to ${max}` })
    return number
  }
  const list = <Item>(name: string, read: (text: string) => Item | undefined, expected: string): Item[] | undefined => {
    const value = sent(name)
    if (value === undefined) return undefined
    return itemsOf(value).flatMap((text) => {
      const item = text === undefined ? undefined : read(text)
      if (item === undefined) errors.push({ field: name, message: `expected ${expected}` })
      return item === undefined ? [] : [item]
    })
  }
  const text = lastId ?? sent('after')
  const after = text === undefined || text === start ? text : parsePosition(text)
  if (text !== undefined && after === undefined)
    errors.push({ field: 'after', message: `expected a position of this feed, or ${start}` })
  const limit = integer('limit', { min: 1, max: maxLimit, initial: defaultLimit })
  const wait = integer('wait', { min: 0, max: maxWait, initial: 0 }) * 1000
  const nouns = followed.map(({ singular }) => singular)
  const wanted = list(
    'resource',
    (noun) => followed.find(({ singular }) => singular === noun),
    `any of ${nouns.join(', ')}`,
  )
  const kinds = list(
    'kind',
    (kind) => eventKinds.find((one): one is EventKind => one === kind),
    `any of ${eventKinds.join(', ')}`,
  )
  const recordIds = list('record', (shown) => uuidOf(shown, followed), 'ids of records in the feed')
  if (errors.length > 0) throw invalidParameters(errors)
  for (const resource of wanted ?? []) await assertScope({ services, caller, client, route: path }, scopeOf(resource))
  const resources = (wanted ?? followed).filter((resource) => covers(caller.scopes, scopeOf(resource)))
  return { after, limit, wait, resources, kinds, recordIds }
}

/** Undefined for an empty item. */
function itemsOf(value: string): (string | undefined)[] {
  try {
    return splitList(value)
  } catch (error) {
    if (error instanceof ListError) return [undefined]
    throw error
  }
}

const uuidOf = (shown: string, followed: readonly Resource[]): string | undefined => {
  for (const { idPrefix } of followed) {
    const uuid = decodeId(idPrefix, shown)
    if (uuid !== undefined) return uuid
  }
  return undefined
}
