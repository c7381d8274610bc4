import type { Request } from './client.ts'

/** The expected state of a deal. Only one writer moves it, one move at a time. */
export interface ExpectedDeal {
  name: string
  id: string | undefined
  /** Ids of the stages that it was acknowledged in, in order; the last one is its stage. */
  stages: string[]
  /** A creation or a move that may or may not have been made. The deal is not moved again until its outcome is known. */
  unknownMove?: UnknownMove
}

export interface UnknownMove {
  request: Request
  stageId: string
}

/** A deal as the service returns it. */
export interface ListedDeal {
  id: string
  name: string
  stageId: string
}

/** A stage move as the service returns it. */
export interface ListedMove {
  fromStageId: string
  toStageId: string
}

/** Stored deals by name. */
export type DealsByName = ReadonlyMap<string, readonly ListedDeal[]>

/** Deals whose stored state is not allowed: lost, duplicated, or in another stage. */
export function wrongDeals(deals: readonly ExpectedDeal[], found: DealsByName): object[] {
  return deals.flatMap((expected) => {
    const listed = found.get(expected.name) ?? []
    const stageId = listed[0]?.stageId
    const isRight = stageId === expected.stages.at(-1) || isMoved(expected, stageId)
    return listed.length <= 1 && isRight ? [] : { expected, listed }
  })
}

/** Names of deals whose unknown move is visible, so that repeating it must change nothing. */
export const alreadyMoved = (deals: readonly ExpectedDeal[], found: DealsByName): ReadonlySet<string> =>
  new Set(deals.filter((deal) => isMoved(deal, found.get(deal.name)?.[0]?.stageId)).map(({ name }) => name))

const isMoved = ({ unknownMove }: ExpectedDeal, stageId: string | undefined): boolean =>
  unknownMove !== undefined && unknownMove.stageId === stageId

/** Whether the recorded moves, in any order, are exactly those that were acknowledged. */
export function hasExactlyTheseMoves({ stages }: ExpectedDeal, moves: readonly ListedMove[]): boolean {
  const expected = stages.slice(1).map((to, index) => `${stages[index]} ${to}`)
  const recorded = moves.map(({ fromStageId, toStageId }) => `${fromStageId} ${toStageId}`)
  return JSON.stringify(expected.sort()) === JSON.stringify(recorded.sort())
}
