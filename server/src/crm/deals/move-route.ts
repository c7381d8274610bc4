import type { Connection } from '../../platform/database/database.ts'
import { writeRoute } from '../../platform/http/route.ts'
import { invalidBody } from '../../platform/model/errors.ts'
import { reference, text } from '../../platform/records/declare/fields.ts'
import { decodeId, encodeId } from '../../platform/model/ids.ts'
import { bodyShapeOf } from '../../platform/records/request/body.ts'
import { changeOne, RouteGroup } from '../../platform/records/routes/standard-routes.ts'
import { stages } from '../stages/resource.ts'
import { type Neighbor, positionNextTo, topPositions } from './position-store.ts'
import { deals } from './resource.ts'
import { dealStore } from './store.ts'
import type { JsonObject, JsonValue } from '../../platform/model/json.ts'

const group = new RouteGroup(dealStore, '/v5/deals')

const moveShape = bodyShapeOf({
  stageId: reference('stg', { label: 'Stage', required: true }),
  afterId: reference('del', { label: 'After', description: 'The deal to place this one directly below' }),
  beforeId: reference('del', { label: 'Before', description: 'The deal to place this one directly above' }),
  lostReason: text({ label: 'Lost because', description: 'For a move to a lost stage', max: 500 }),
})

export const moveRoute = writeRoute({
  ...group.changeRoute('move'),
  summary: 'Move a deal on the board',
  description:
    'Places a deal in a stage: next to another deal (`afterId` or `beforeId`), otherwise at its top. Moving it to a won or lost stage closes it, moving it back reopens it.',
  scope: group.scope('update', 'write'),
  body: { component: 'DealMove', shape: moveShape, required: true },
  async handle(request) {
    const { body, db } = request
    const { stageId } = body
    const neighbor = neighborOf(body)
    const id = group.id(request.params)
    let position = '0'
    const placing = neighbor ? placeNextTo(db, id, stageId, neighbor) : topOf(db, id, stageId)
    // Sent together with what is read of the deal.
    const sent = placing.then((found) => void (position = found))
    const { lostReason } = body
    const values = { stageId, ...(lostReason !== undefined && { lostReason }) }
    const { isSoleOperation } = request
    return changeOne(group, request, { values, columns: () => ({ position }) }, { isSoleOperation, sent })
  },
})

/** Throws 422. */
async function placeNextTo(
  db: Connection,
  id: string,
  stageId: JsonValue | undefined,
  neighbor: Neighbor,
): Promise<string> {
  const place = await positionNextTo(db, id, neighbor)
  if (place && encodeId(stages.idPrefix, place.stage_id) === stageId) return place.position
  throw invalidBody([{ field: `${neighbor.side}Id`, message: 'no other deal with this id is in this stage' }])
}

/** Said outright, because a deal that stays in its stage would keep its position otherwise. */
async function topOf(db: Connection, id: string, stageId: JsonValue | undefined): Promise<string> {
  const uuid = decodeId(stages.idPrefix, String(stageId)) ?? ''
  const positions = await topPositions(db, [{ id, stageId: uuid }])
  return positions.get(id) ?? '0'
}

/** Throws 422 if two deals are named. */
function neighborOf({ afterId, beforeId }: JsonObject): Neighbor | undefined {
  if (typeof afterId === 'string' && typeof beforeId === 'string') {
    throw invalidBody([{ field: 'beforeId', message: 'cannot be combined with afterId' }])
  }
  const [side, id] = typeof afterId === 'string' ? (['after', afterId] as const) : (['before', beforeId] as const)
  return typeof id === 'string' ? { side, id: decodeId(deals.idPrefix, id) ?? '' } : undefined
}
