/** A time of a list that is ordered by one, and the number of rows before it. */
export interface TimedPlace {
  /** Milliseconds since 1970. */
  time: number
  index: number
}

interface Seek {
  /** The index to find. */
  index: number
  /** Times that enclose it, in the order of the list: a descending one goes from the newest to the oldest. */
  from: TimedPlace
  to: TimedPlace
  /** Rows that one request returns. */
  pageSize: number
  /** The number of rows before all rows of this time or later in the list. */
  countBefore(time: number): Promise<number>
}

/** By then, so many rows have nearly the same time that walking along them is no slower. */
const maxGuesses = 48

/**
 * Finds a time whose page contains a far away row. Guesses in proportion and by halves in turn, so that a dozen counts
 * are enough, however long the list is. Undefined if more rows than a page have the same time.
 */
export async function seek({ index, from, to, pageSize, countBefore }: Seek): Promise<TimedPlace | undefined> {
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
