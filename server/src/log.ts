import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** Which process of a service writes the log; workers count from 1. */
export type LogWriter = 'primary' | number

/**
 * The log of the service on standard error (standard output is for the results of commands): one JSON object per line,
 * or text on a terminal. With several processes, each line names the process that wrote it.
 */
export const createLog = (level: Config['logLevel'], writer?: LogWriter): Logger =>
  pino(
    { level, base: writer === undefined ? null : { process: writer }, timestamp: time },
    process.stderr.isTTY ? terminal : inBatches(writer === undefined ? defaultBatch : atomicBatch),
  )

/** Lines are buffered up to this many bytes: a system call per line would be a tenth of the cost of a request. */
const defaultBatch = { minLength: 8192 }
/**
 * Lines of several processes must not mix: no write is longer than what Linux writes atomically (PIPE_BUF, pipe(7)).
 */
const atomicBatch = { minLength: 3584, maxWrite: 4096 }

/** Buffers lines for at most 100 ms. */
function inBatches(batch: { minLength: number; maxWrite?: number }) {
  const destination = pino.destination({ dest: 2, sync: true, periodicFlush: 100, ...batch })
  // Not `flushSync`, which repeats a failing write forever, for example when nobody reads the log anymore.
  process.once('exit', () => destination.end())
  return destination
}

const terminal = { write: (line: string) => process.stderr.write(`${formatLine(line)}\n`) }

/** Formats a line for people: the time of day, the level unless it is `info`, the message, other fields. */
export function formatLine(line: string): string {
  const { level, time: at, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>
  const name = level === pino.levels.values.info ? '' : `${pino.levels.labels[Number(level)]?.toUpperCase()} `
  const fields = Object.entries(rest).map(
    ([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const stack = (err as { stack?: string } | undefined)?.stack
  return `${String(at).slice(11, 19)} ${name}${String(msg ?? '')}${fields.join('')}${stack === undefined ? '' : `\n${stack}`}`
}

let cachedTime = 0
let cachedText = ''

/** The timestamp of a line, formatted once per millisecond. */
function time(): string {
  const now = Date.now()
  if (now !== cachedTime) {
    cachedTime = now
    cachedText = `,"time":"${new Date(now).toISOString()}"`
  }
  return cachedText
}
