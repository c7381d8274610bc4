/** A time in a list that is ordered by time, and the number of rows before it. */
export interface TimedRow {
  /** Milliseconds since 1970. */
  time: number
  index: number
}

interface Seek {
  /** The index to find. */
  index: number
  /** Times that enclose the index, in the order of the list: a descending list goes from newest to oldest. */
  from: TimedRow
  to: TimedRow
  /** Rows per request. */
  pageSize: number
  /** Counts the rows before all rows of this time or later in the list. */
  countBefore(time: number): Promise<number>
}

/** After this many guesses, so many rows have nearly the same time that following cursors is no slower. */
const maxGuesses = 48

/**
 * Finds a time whose page contains a distant row. Alternates interpolation and bisection, so that a dozen counts are
 * enough for any length. Undefined if more rows than fit on a page have the same time.
 */
export async function seek({ index, from, to, pageSize, countBefore }: Seek): Promise<TimedRow | undefined> {
  let [low, high] = [from, to]
  for (let guess = 0; guess < maxGuesses && Math.abs(high.time - low.time) > 1; guess++) {
    const share = guess % 2 === 0 ? (index - low.index) / Math.max(1, high.index - low.index) : 0.5
    const time = Math.round(low.time + (high.time - low.time) * Math.min(0.99, Math.max(0.01, share)))
    if (time === low.time || time === high.time) continue
    const place = { time, index: await countBefore(time) }
    if (place.index > index) high = place
    else if (index - place.index < pageSize) return place
    else low = place
  }
  return undefined
}
