import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/**
 * The service's log on standard error (standard output is for what a command answers): one JSON object a line, or on a
 * terminal the same in words.
 */
export const createLog = (level: Config['logLevel'], isTerminal = process.stderr.isTTY): Logger =>
  pino({ level, base: null, timestamp: time }, isTerminal ? terminal : inBatches())

/** Lines are gathered for 100 ms or 8 KiB: a system call for each would be a tenth of a request. */
function inBatches() {
  const destination = pino.destination({ dest: 2, sync: true, minLength: 8192, periodicFlush: 100 })
  process.once('exit', () => destination.flushSync())
  return destination
}

const terminal = { write: (line: string) => process.stderr.write(`${inWords(line)}\n`) }

/** A line of the log for people: the time of day, the level unless it is the usual one, the message, the rest. */
export function inWords(line: string): string {
  const { level, time: at, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>
  const name = level === pino.levels.values.info ? '' : `${pino.levels.labels[Number(level)]?.toUpperCase()} `
  const more = Object.entries(rest).map(
    ([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const stack = (err as { stack?: string } | undefined)?.stack
  return `${String(at).slice(11, 19)} ${name}${String(msg ?? '')}${more.join('')}${stack === undefined ? '' : `\n${stack}`}`
}

let at = 0
let text = ''

/** The time of a line, written out once a millisecond. */
function time(): string {
  const now = Date.now()
  if (now !== at) {
    at = now
    text = `,"time":"${new Date(now).toISOString()}"`
  }
  return text
}
