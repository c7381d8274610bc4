import type { ReadRequest } from '../platform/http/route.ts'
import { ApiError } from '../platform/model/errors.ts'
import type { JsonObject } from '../platform/model/json.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { showEvent } from './event.ts'
import { type FeedPage, readFeed } from './page-store.ts'
import { placedAtOnce, placeEvents } from './positions-store.ts'
import { start, type Wish } from './wish.ts'

/** A page of a feed that exists. */
export interface CurrentPage extends FeedPage {
  epoch: string
  /** True if earlier events still wait for their positions: those of months are placed in several steps. */
  isBehind: boolean
}

export const hasMore = ({ reached, lastPosition, isBehind }: CurrentPage): boolean => reached < lastPosition || isBehind

/** The page, with all that was committed before. Error: 410. */
export async function readCurrent(
  { services, db }: Pick<ReadRequest, 'services' | 'db'>,
  wish: Wish,
): Promise<CurrentPage> {
  const { after, ...others } = wish
  const number = after === undefined || after === start ? 0 : after.number
  const read = () => readFeed(db, { ...others, after: number }, services.eventDays)
  const first = await read()
  const isShort = first.isWaiting || first.epoch === undefined
  const placed = isShort ? await placeEvents(services.database, db.organizationId) : 0
  const { epoch = '', ...page } = isShort ? await read() : first
  if (page.isExpired || (typeof after === 'object' && epoch !== after.epoch)) throw expired()
  return { ...page, epoch, isBehind: placed === placedAtOnce }
}

const expired = (): ApiError =>
  new ApiError(
    'cursor_expired',
    'The feed no longer has what follows this position. Read all records again: first keep the position from GET /v5/events/position, and continue from there.',
  )

/** The events of the page as callers see them. */
export function showEvents({ epoch, events }: CurrentPage, followed: readonly Resource[]): JsonObject[] {
  const bySingular = new Map(followed.map((resource) => [resource.singular, resource]))
  return events.flatMap((event) => {
    const resource = bySingular.get(event.resource)
    return resource ? [showEvent(event, { resource, epoch })] : []
  })
}
