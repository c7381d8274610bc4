import { ChangesMeanwhile } from './changes-meanwhile.ts'
import { ApiError } from './error.ts'
import type { RecordFilter } from './record-filter.ts'
import type { RecordData } from './schema.ts'
import { seek, type TimedRow } from './seek.ts'

const pageSize = 100
/** Number of rows to load before and after the visible ones. */
const margin = 60
/** Rows farther than this from every known row are found by their creation time, if the list is in that order. */
const seekDistance = 10 * pageSize
/** Visible rows older than this many milliseconds are reloaded when the list is shown again. */
const freshness = 15_000

interface Page {
  /** Index of the first row. */
  start: number
  rows: readonly RecordData[]
}

/**
 * The rows of a list of any length, by index, over a cursor API: loads only what is visible. Finds distant rows by
 * their time or, in another order, by following ids from the nearest known row. The last rows are known from the start:
 * they are the first page of the reversed list.
 */
export class RecordWindow {
  /** Number of rows; undefined until it is known. */
  total: number | undefined
  error: unknown
  /** How many records others have added that are not shown yet; undefined if the list is as it should be. */
  arrived: number | undefined
  /** Changes whenever anything visible changes. */
  version = 0
  /** Each key is equal for the same records or the same order. */
  readonly recordsKey: string
  readonly orderKey: string

  readonly #path: string
  readonly #filter: RecordFilter
  readonly #order: URLSearchParams
  readonly #fields: readonly string[]
  readonly #listeners = new Set<() => void>()
  #rows = new Map<number, RecordData>()
  #ids = new Map<number, string>()
  #indexes = new Map<string, number>()
  #needed = { first: 0, last: 0 }
  #isWorking = false
  #isReloading = false
  /** The first and the last row; null if this list cannot be searched by time. */
  #ends: readonly [TimedRow, TimedRow] | null | undefined
  #loadedAt = 0
  /** Incremented on each reload; responses to earlier reloads are dropped. */
  #reloads = 0
  /** Incremented when rows change their index; pages that were requested before are dropped. */
  #places = 0
  readonly #changes = new ChangesMeanwhile<RecordData[]>()

  constructor(path: string, filter: RecordFilter, order: URLSearchParams, fields: readonly string[]) {
    this.#path = path
    this.#filter = filter
    this.#order = order
    this.#fields = fields
    this.recordsKey = filter.key
    this.orderKey = order.toString()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** True once the first rows and the total, or an error, have arrived. */
  get isReady(): boolean {
    return this.error !== undefined || (this.total !== undefined && (this.total === 0 || this.#rows.size > 0))
  }

  rowAt(index: number): RecordData | undefined {
    return this.#rows.get(index)
  }

  /** The index of a loaded row; -1 if it is not loaded. */
  indexOf(id: string): number {
    return this.#indexes.get(id) ?? -1
  }

  /** All loaded rows, in the order of the list. */
  loaded(): RecordData[] {
    return [...this.#rows].sort(([one], [other]) => one - other).map(([, row]) => row)
  }

  /** Loads the rows from `first` to `last` that are missing. */
  need(first: number, last: number): void {
    this.#needed = { first: Math.max(0, first - margin), last: last + margin }
    void this.#work()
  }

  /** Shows a changed record at once. */
  put(record: RecordData): void {
    this.#changes.add((rows) => rows.map((row) => (row.id === record.id && isWhole(row) ? { ...row, ...record } : row)))
    const index = this.#indexes.get(record.id)
    if (index === undefined) return
    this.#rows.set(index, { ...this.#rows.get(index), ...record })
    this.#changed()
  }

  /** Loads these rows again, which stay where they are. */
  async patch(ids: readonly string[]): Promise<void> {
    for (let first = 0; first < ids.length; first += pageSize) {
      const page = new URLSearchParams({ limit: String(pageSize) })
      for (const field of this.#fields) page.append('select[]', field)
      const own = this.#filter.only(ids.slice(first, first + pageSize))
      // The person may have changed one of them meanwhile.
      for (const row of await this.#changes.during(() => own.page(this.#path, page))) this.put(row)
    }
  }

  /** Counts what has arrived, without moving the rows. */
  async countArrived(): Promise<void> {
    const reload = this.#reloads
    const total = await this.#filter.count(this.#path)
    if (reload !== this.#reloads) return
    this.arrived = Math.max(0, total - (this.total ?? 0))
    this.#changed()
  }

  /** Removes deleted records at once. */
  remove(ids: ReadonlySet<string>): void {
    const kept = this.loaded().filter(({ id }) => !ids.has(id))
    const isContiguous = Math.max(...this.#rows.keys()) === this.#rows.size - 1
    const areLoaded = this.#rows.size - kept.length === ids.size
    // The response to an earlier reload would still contain them.
    if (!isContiguous || !areLoaded || this.#isReloading) return void this.reload()
    this.total = Math.max(0, (this.total ?? 0) - ids.size)
    this.#clear()
    this.#store({ start: 0, rows: kept })
    void this.#work()
  }

  /** Reloads everything; the current rows stay visible until then. */
  async reload(): Promise<void> {
    const reload = ++this.#reloads
    const startedAt = Date.now()
    this.error = undefined
    this.#isReloading = true
    try {
      const [total, { rows }] = await Promise.all([
        this.#filter.count(this.#path),
        this.#page({ start: 0 }, this.#fields),
      ])
      if (reload !== this.#reloads) return
      this.#clear()
      this.total = total
      this.arrived = undefined
      this.#store({ start: 0, rows })
      this.#loadedAt = startedAt
      this.#isReloading = false
      // Reload the rows that are needed now: the person may have scrolled meanwhile.
      void this.#work()
    } catch (error) {
      if (reload !== this.#reloads) return
      this.#isReloading = false
      this.error = error
      this.#changed()
    }
  }

  /** All records in the order of their creation: a changed value moves none. */
  get isPlain(): boolean {
    return this.recordsKey === '' && this.#order.get('orderBy') === 'createdAt'
  }

  get isShown(): boolean {
    return this.#listeners.size > 0
  }

  /** Makes the next `refresh` reload everything. */
  expire(): void {
    this.#loadedAt = 0
  }

  /** Reloads everything if it may be out of date. */
  refresh(): void {
    if (Date.now() - this.#loadedAt > freshness) void this.reload()
  }

  async #work(): Promise<void> {
    if (this.#isWorking || this.total === undefined) return
    this.#isWorking = true
    let missing = this.#firstMissing()
    while (missing !== undefined && (await this.#load(missing))) missing = this.#firstMissing()
    this.#isWorking = false
  }

  /** Loads a page towards a row; false if no request can get closer. */
  async #load(index: number): Promise<boolean> {
    const places = this.#places
    try {
      const page = await this.#approach(index)
      if (places !== this.#places) return true
      if (page.rows.length > 0 && !this.#contradicts(page)) {
        this.#store(page)
        return true
      }
      void this.reload()
    } catch (error) {
      if (places !== this.#places) return true
      // The cursor's record was deleted: the list has changed.
      if (error instanceof ApiError && error.status === 404) void this.reload()
      else {
        this.error = error
        this.#changed()
      }
    }
    return false
  }

  #firstMissing(): number | undefined {
    const last = Math.min(this.#needed.last, (this.total ?? 0) - 1)
    for (let index = this.#needed.first; index <= last; index++) if (!this.#rows.has(index)) return index
    return undefined
  }

  /** Loads the page with this row; if no adjacent row is known, loads ids towards it. */
  async #approach(index: number): Promise<Page> {
    const total = this.total ?? 0
    let before = index
    while (before > 0 && !this.#ids.has(before - 1)) before--
    let after = index + 1
    while (after < total && !this.#ids.has(after)) after++
    const isForward = index - before <= after - 1 - index
    const distance = isForward ? index - before : after - 1 - index
    const found = distance > seekDistance ? await this.#seek(index) : undefined
    if (found) return found
    const fields = distance < pageSize ? this.#fields : ['id']
    return isForward ? this.#page({ start: before }, fields) : this.#page({ end: after }, fields)
  }

  /**
   * The page that starts at, or ends before, an index. The adjacent row must be known, except at both ends and for a
   * start that is the first row of `since`.
   */
  async #page(
    place: { start: number } | { end: number },
    fields: readonly string[],
    since?: readonly [string, number],
  ): Promise<Page> {
    const query = new URLSearchParams([...this.#order, ['limit', String(pageSize)]])
    const isTail = 'end' in place && place.end === this.total
    if (since === undefined && 'start' in place && place.start > 0)
      query.set('startingAfter', this.#ids.get(place.start - 1) ?? '')
    if ('end' in place && !isTail) query.set('endingBefore', this.#ids.get(place.end) ?? '')
    if (isTail) query.set('sort', query.get('sort') === 'asc' ? 'desc' : 'asc')
    for (const field of fields) query.append('select[]', field)
    const filter = since ? this.#created(since) : this.#filter
    const found = await this.#changes.during(() => filter.page(this.#path, query))
    const rows = isTail ? found.reverse() : found
    return { start: 'start' in place ? place.start : place.end - rows.length, rows }
  }

  /** The page with this row, found by its time; undefined if that is impossible. */
  async #seek(index: number): Promise<Page | undefined> {
    const places = this.#places
    const ends = this.#ends === undefined ? await this.#findEnds() : this.#ends
    if (places === this.#places) this.#ends = ends
    if (!ends) return undefined
    const [from, to] = ends
    const isDescending = this.#order.get('sort') === 'desc'
    const [before, since] = isDescending ? ['gt', 'lte'] : ['lt', 'gte']
    // Rows created since the list was loaded come before all others, or after them.
    const added = isDescending ? (await this.#filter.count(this.#path)) - (this.total ?? 0) : 0
    const countBefore = async (time: number) => (await this.#created([before, time]).count(this.#path)) - added
    const place = await seek({ index, from, to, pageSize, countBefore })
    if (place) return this.#page({ start: place.index }, this.#fields, [since, place.time])
    if (places === this.#places) this.#ends = null
    return undefined
  }

  /** Null if the list is in another order, or filtered by creation time. */
  async #findEnds(): Promise<readonly [TimedRow, TimedRow] | null> {
    if (this.#order.get('orderBy') !== 'createdAt' || this.#filter.tests('createdAt')) return null
    const total = this.total ?? 0
    const [first, last] = await Promise.all(
      [{ start: 0 }, { end: total }].map((place) => this.#page(place, ['createdAt'])),
    )
    const timeOf = (row: RecordData | undefined) => Date.parse(String(row?.createdAt))
    return [
      { time: timeOf(first?.rows[0]), index: 0 },
      { time: timeOf(last?.rows.at(-1)), index: total - 1 },
    ]
  }

  /** The rows whose creation time compares in this way with the given one. */
  #created([operator, time]: readonly [string, number]): RecordFilter {
    return this.#filter.with('createdAt', operator, new Date(time).toISOString())
  }

  /** Has the list changed since other pages were loaded, so that a row would appear twice? */
  #contradicts({ start, rows }: Page): boolean {
    return rows.some(({ id }, offset) => (this.#indexes.get(id) ?? start + offset) !== start + offset)
  }

  #store({ start, rows }: Page): void {
    rows.forEach((row, offset) => {
      this.#ids.set(start + offset, row.id)
      this.#indexes.set(row.id, start + offset)
      if (isWhole(row)) this.#rows.set(start + offset, row)
    })
    this.#changed()
  }

  #clear(): void {
    this.#places++
    this.#ends = undefined
    this.#rows = new Map()
    this.#ids = new Map()
    this.#indexes = new Map()
  }

  #changed(): void {
    this.version++
    for (const listener of this.#listeners) listener()
  }
}

/** False for rows on the way to others: only their ids are loaded. */
const isWhole = (row: RecordData): boolean => Object.keys(row).length > 1
