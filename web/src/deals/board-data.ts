import { type LiveEvent, whenForgetting } from '../api/query-client.ts'
import type { RecordFilter } from '../api/record-filter.ts'
import { Arrivals } from '../live/arrivals.ts'
import { mentionsAny, onEvents, onEventsLost } from '../live/events.ts'
import type { CardPosition } from '../ui/board/board-model.ts'
import { onRecordChanged } from '../views/changes.ts'
import { onListsReloaded } from '../views/use-record-window.ts'
import { add, compare, percentOf } from './decimals.ts'
import { boardFields, type Deal, type DealSum, type Stage } from './records.ts'

const path = '/v5/deals'
const pageSize = 40
/** Milliseconds after which a board is reloaded when it is shown again. */
const freshness = 15_000

interface Column {
  deals: Deal[]
  hasMore: boolean
  isLoading: boolean
}

/** Where a deal was before a move, so that it can be put back. */
export interface FormerPosition {
  deal: Deal
  index: number
  /** The neighbours at that time. */
  afterId: string | undefined
  beforeId: string | undefined
}

/** The deals of a pipeline that match the filters, by stage: the first ones of each stage, and more on request. */
export class BoardData {
  error: unknown
  /** How many deals others have added that are not shown yet; undefined if the board is as it should be. */
  arrived: number | undefined
  readonly arrivals = new Arrivals(this)
  /** Changes whenever anything visible changes. */
  version = 0
  sums: readonly DealSum[] | undefined
  /** Equal for the same deals. */
  readonly cardsKey: string

  readonly #stages: readonly Stage[]
  readonly #filter: RecordFilter
  readonly #columns = new Map<string, Column>()
  readonly #listeners = new Set<() => void>()
  #loadedAt = 0
  #generation = 0
  /**
   * Incremented when a deal is moved or changed here: responses that were requested before do not contain the change.
   */
  #edits = 0
  /** Number of moves that the service has not confirmed yet. */
  #pendingMoves = 0
  #isReloadDue = false

  constructor(stages: readonly Stage[], filter: RecordFilter) {
    this.#stages = stages
    this.#filter = filter
    this.cardsKey = filter.key
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get isReady(): boolean {
    return this.error !== undefined || this.sums !== undefined
  }

  dealsIn(stageId: string): readonly Deal[] {
    return this.#columns.get(stageId)?.deals ?? []
  }

  hasMore(stageId: string): boolean {
    return this.#columns.get(stageId)?.hasMore ?? false
  }

  find(id: string): Deal | undefined {
    return this.#shown().find((deal) => deal.id === id)
  }

  #shown(): Deal[] {
    return [...this.#columns.values()].flatMap(({ deals }) => deals)
  }

  /** Reloads everything if it may be out of date. */
  refresh(): void {
    if (Date.now() - this.#loadedAt > freshness) void this.reload()
  }

  /** Called after a change that this board cannot apply itself. */
  outdate(): void {
    this.#loadedAt = 0
    if (this.isShown) void this.reload()
  }

  get isShown(): boolean {
    return this.#listeners.size > 0
  }

  /** Makes the next `refresh` reload everything. */
  expire(): void {
    this.#loadedAt = 0
  }

  /** Follows what others change: deals, and what these show of other records. */
  follow(events: readonly LiveEvent[]): void {
    const ofDeals = events.filter(({ resource, isOwn }) => resource === 'deal' && !isOwn)
    const others = events.filter(({ resource }) => resource !== 'deal')
    const changed = new Set(others.map(({ recordId }) => recordId))
    const named = new Set(others.flatMap(({ ids }) => ids))
    const touched = this.#shown().filter((deal) => named.has(deal.id) || mentionsAny(deal, changed))
    const ids = [...ofDeals.map(({ recordId }) => recordId), ...touched.map(({ id }) => id)]
    if (ids.length > 0) this.arrivals.follow(ids, ofDeals.length > 0)
  }

  /** Loads these deals again. Cards stay where they are. */
  async patch(ids: readonly string[]): Promise<void> {
    const own = ids.filter((id) => this.find(id))
    if (own.length === 0) return
    const edits = this.#edits
    const deals = await this.#readDeals(own)
    // The person has changed a card meanwhile, which the answer does not contain.
    if (edits !== this.#edits) return this.arrivals.follow(own, false)
    for (const deal of deals) {
      const shown = this.find(deal.id)
      if (shown?.stageId === deal.stageId && shown.position === deal.position) this.put(deal)
    }
  }

  /** Counts what has arrived, without moving the cards. */
  async countArrived(): Promise<void> {
    const countIn = (sums: readonly DealSum[]) => sums.reduce((total, { count }) => total + count, 0)
    this.arrived = Math.max(0, countIn(await this.#readSums()) - countIn(this.sums ?? []))
    this.#changed()
  }

  /** Reloads everything; the current cards stay visible until then. */
  async reload(): Promise<void> {
    this.#isReloadDue = this.#pendingMoves > 0
    if (this.#isReloadDue) return
    const [generation, edits] = [++this.#generation, this.#edits]
    try {
      const [sums, ...pages] = await Promise.all([
        this.#readSums(),
        ...this.#stages.map(({ id }) => this.#readPage(id, undefined)),
      ])
      if (generation !== this.#generation) return
      if (edits !== this.#edits) return await this.reload()
      this.#stages.forEach(({ id }, index) => {
        const deals = pages[index] ?? []
        this.#columns.set(id, { deals, hasMore: deals.length === pageSize, isLoading: false })
      })
      this.sums = sums
      this.arrived = undefined
      this.error = undefined
      this.#loadedAt = Date.now()
    } catch (error) {
      if (generation !== this.#generation) return
      this.error = error
    }
    this.#changed()
  }

  /** Loads the next deals of a stage. */
  async loadMore(stageId: string): Promise<void> {
    const column = this.#columns.get(stageId)
    if (!column?.hasMore || column.isLoading) return
    const generation = this.#generation
    column.isLoading = true
    try {
      const page = await this.#readPage(stageId, column.deals.at(-1)?.id)
      if (generation !== this.#generation) return
      // A deal may have been moved to another stage meanwhile.
      column.deals.push(...page.filter(({ id }) => !this.find(id)))
      column.hasMore = page.length === pageSize
      this.#changed()
    } catch {
      // The last deal may have been deleted meanwhile: the columns have changed.
      if (generation === this.#generation) void this.reload()
    } finally {
      column.isLoading = false
    }
  }

  /** Moves a deal on the screen at once, and returns where it was. Call `confirm` or `putBack` afterwards. */
  place(id: string, { columnId, index }: CardPosition): FormerPosition | undefined {
    const former = this.#take(id)
    const stage = this.#stage(columnId)
    if (!former || !stage) return undefined
    this.#pendingMoves++
    const time = new Date().toISOString()
    const isMove = columnId !== former.deal.stageId
    const deal: Deal = {
      ...former.deal,
      stageId: columnId,
      status: stage.kind,
      ...(isMove && { stageChangedAt: time, lastActivityAt: time, lostReason: null }),
    }
    this.#insert(deal, index)
    return former
  }

  /** The neighbours of a deal; a move names one of them. */
  neighborsOf(id: string): Pick<FormerPosition, 'afterId' | 'beforeId'> {
    const deals = this.dealsIn(this.find(id)?.stageId ?? '')
    const index = deals.findIndex((deal) => deal.id === id)
    return { afterId: deals[index - 1]?.id, beforeId: deals[index + 1]?.id }
  }

  /** Puts a deal back to where it was. */
  putBack({ deal, index, beforeId }: FormerPosition): void {
    this.#take(deal.id)
    const at = this.dealsIn(deal.stageId).findIndex(({ id }) => id === beforeId)
    this.#insert(deal, at === -1 ? index : at)
    this.#endMove()
  }

  /** Shows a changed deal, in its place or where its position puts it. */
  put(deal: Deal): void {
    this.#edits++
    const shown = this.find(deal.id)
    const isHere = this.#stages.some(({ id }) => id === deal.stageId)
    if (!shown) return isHere ? this.outdate() : undefined
    if (!isHere) {
      this.#take(deal.id)
      return this.#changed()
    }
    const isPlaced = shown.stageId === deal.stageId && shown.position === deal.position
    const former = this.#take(deal.id)
    const others = this.dealsIn(deal.stageId)
    const below = others.findIndex(({ position }) => compare(position, deal.position) > 0)
    if (!isPlaced && below === -1 && this.hasMore(deal.stageId)) {
      // Its position is among the deals that are not loaded yet.
      this.#count(deal, 1)
      return this.#changed()
    }
    const index = isPlaced ? (former?.index ?? 0) : below === -1 ? others.length : below
    this.#insert(deal, index)
  }

  /** Stores the service's response to a move, without moving the card again. */
  confirm(deal: Deal): void {
    const column = this.#columns.get(deal.stageId)
    const index = column?.deals.findIndex(({ id }) => id === deal.id) ?? -1
    if (column && index !== -1) {
      column.deals[index] = deal
      this.#changed()
    } else this.put(deal)
    this.#endMove()
  }

  #endMove(): void {
    this.#pendingMoves--
    this.#edits++
    if (this.#isReloadDue) void this.reload()
  }

  #stage(id: string): Stage | undefined {
    return this.#stages.find((stage) => stage.id === id)
  }

  #take(id: string): FormerPosition | undefined {
    for (const { deals } of this.#columns.values()) {
      const index = deals.findIndex((deal) => deal.id === id)
      const [deal] = index === -1 ? [] : deals.slice(index, index + 1)
      if (!deal) continue
      const former = { deal, index, afterId: deals[index - 1]?.id, beforeId: deals[index + 1]?.id }
      deals.splice(index, 1)
      this.#count(deal, -1)
      return former
    }
    return undefined
  }

  #insert(deal: Deal, index: number): void {
    this.#columns.get(deal.stageId)?.deals.splice(index, 0, deal)
    this.#count(deal, 1)
    this.#changed()
  }

  /** Adds a deal to the sums of its stage, or subtracts it. */
  #count({ stageId, pipelineId, currency, amount }: Deal, sign: 1 | -1): void {
    const stage = this.#stage(stageId)
    const sums = this.sums ?? []
    if (!stage) return
    const isOurs = (sum: DealSum) => sum.stageId === stageId && sum.currency === currency
    const none = { id: `${stageId}-${currency}`, pipelineId, stageId, currency, count: 0, sum: '0', weightedSum: '0' }
    const before = sums.find(isOurs) ?? none
    const after = {
      ...before,
      count: before.count + sign,
      sum: add(before.sum, percentOf(amount ?? '0', sign * 100)),
      weightedSum: add(before.weightedSum, percentOf(amount ?? '0', sign * stage.probability)),
    }
    this.sums = [...sums.filter((sum) => !isOurs(sum)), ...(after.count > 0 ? [after] : [])]
  }

  #readSums(): Promise<DealSum[]> {
    const pipelineId = this.#stages[0]?.pipelineId ?? ''
    return this.#filter.with('pipelineId', 'equals', pipelineId).totals<DealSum>(path, 'summary')
  }

  async #readDeals(ids: readonly string[]): Promise<Deal[]> {
    const deals: Deal[] = []
    for (let first = 0; first < ids.length; first += pageSize) {
      const page = new URLSearchParams({ limit: String(pageSize) })
      for (const field of boardFields) page.append('select[]', field)
      deals.push(...(await this.#filter.withIds(ids.slice(first, first + pageSize)).page<Deal>(path, page)))
    }
    return deals
  }

  #readPage(stageId: string, startingAfter: string | undefined): Promise<Deal[]> {
    const page = new URLSearchParams({ orderBy: 'position', sort: 'asc', limit: String(pageSize) })
    for (const field of boardFields) page.append('select[]', field)
    if (startingAfter !== undefined) page.set('startingAfter', startingAfter)
    return this.#filter.with('stageId', 'equals', stageId).page(path, page)
  }

  #changed(): void {
    this.version++
    for (const listener of this.#listeners) listener()
  }
}

/** The most recent boards, so that Back finds the cards; the oldest is dropped. */
const recent = new Map<string, BoardData>()
const maxRecent = 3
whenForgetting(() => recent.clear())

// Includes boards that are not on the screen: a person may close a deal on its page and go back to the board.
onRecordChanged(({ name }, record) => {
  if (name === 'deals') for (const board of recent.values()) board.put(record as never as Deal)
})
onEvents((events) => {
  for (const board of recent.values()) board.follow(events)
})
onEventsLost(() => {
  for (const board of recent.values()) board.arrivals.followAll()
})
onListsReloaded((reloaded) => {
  if (reloaded === path) for (const board of recent.values()) board.outdate()
})

/** The board for these stages and filters. */
export function boardFor(stages: readonly Stage[], filter: RecordFilter): BoardData {
  const key = `${JSON.stringify(stages)} ${filter.key}`
  const found = recent.get(key)
  recent.delete(key)
  const board = found ?? new BoardData(stages, filter)
  recent.set(key, board)
  const [oldest] = recent.keys()
  if (recent.size > maxRecent && oldest !== undefined) recent.delete(oldest)
  return board
}
