import { drawBar, removeBar, printMessage } from './command.ts'

/** Where a long piece of work stands, told on standard error. */
export interface Progress {
  /** So many of the whole are done; what comes next. */
  update(done: number, next?: string): void
  /** The last word, in place of the bar. */
  end(message: string): void
}

const width = 24
/** Milliseconds between two looks of somebody at a terminal, and between two lines of a log. */
const intervals = { terminal: 100, log: 10_000 }

/**
 * Tells how `total` things are getting on: a bar that is redrawn on a terminal, a line every ten seconds elsewhere. A
 * total that is not known is 0: then only what is done is told.
 */
export function startProgress(label: string, total: number, unit: string): Progress {
  const isTerminal = process.stderr.isTTY
  const interval = isTerminal ? intervals.terminal : intervals.log
  const began = performance.now()
  let next = began + (isTerminal ? 0 : interval)
  return {
    update: (done, what) => {
      const now = performance.now()
      // A bar that stays on the screen shows the end.
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

/** 1234567 as 1,234,567. */
export const formatCount = (value: number): string => value.toLocaleString('en-US')
