import { drawBar, removeBar, printMessage } from './command.ts'

/** Progress of a long operation, shown on standard error. */
export interface Progress {
  /** Reports how much is done, and what is next. */
  update(done: number, next?: string): void
  /** Prints the final message instead of the bar. */
  end(message: string): void
}

const width = 24
/** Milliseconds between two updates of the bar, and between two lines in a log. */
const intervals = { terminal: 100, log: 10_000 }

/**
 * Shows the progress of `total` items: on a terminal as a bar, elsewhere as a line every ten seconds. If the total is
 * unknown (0), shows only what is done.
 */
export function startProgress(label: string, total: number, unit: string): Progress {
  const isTerminal = process.stderr.isTTY
  const interval = isTerminal ? intervals.terminal : intervals.log
  const began = performance.now()
  let next = began + (isTerminal ? 0 : interval)
  return {
    update: (done, what) => {
      const now = performance.now()
      // The last bar stays visible, so it must show the end.
      if (now < next && !(isTerminal && done === total)) return
      next = now + interval
      const line = describe({ label, done, total, unit, what, seconds: (now - began) / 1000 })
      if (isTerminal) drawBar(line)
      else printMessage(line)
    },
    end: (message) => {
      removeBar()
      printMessage(message)
    },
  }
}

interface ProgressState {
  label: string
  done: number
  total: number
  unit: string
  what: string | undefined
  seconds: number
}

function describe({ label, done, total, unit, what, seconds }: ProgressState): string {
  const rate = seconds > 0 ? `, ${formatCount(Math.round(done / seconds))}/s` : ''
  const next = what ? `: ${what}` : ''
  if (total <= 0) return `${label} ${formatCount(done)} ${unit}${rate}${next}`
  const share = Math.min(1, done / total)
  const bar = '█'.repeat(Math.round(share * width)).padEnd(width, '░')
  const remaining = share > 0 && share < 1 ? `, ${Math.ceil((seconds / share) * (1 - share))} s left` : ''
  return `${label} ${bar} ${Math.floor(share * 100)} % (${formatCount(done)} of ${formatCount(total)} ${unit}${rate}${remaining})${next}`
}

/** Formats 1234567 as 1,234,567. */
export const formatCount = (value: number): string => value.toLocaleString('en-US')

/** Formats a count that stops at one above `max`. */
export const formatBounded = (value: number, max: number): string =>
  value > max ? `more than ${formatCount(max)}` : formatCount(value)

const [minute, hour] = [60, 3600]

/** Formats seconds in a suitable unit. */
export function formatDuration(seconds: number): string {
  if (seconds < 2 * minute) return `${Math.round(seconds)} s`
  if (seconds < 2 * hour) return `${Math.round(seconds / minute)} minutes`
  return seconds < 48 * hour ? `${Math.round(seconds / hour)} hours` : `${Math.round(seconds / (24 * hour))} days`
}
