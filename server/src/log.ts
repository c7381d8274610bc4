import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** Which of several processes of a service it is; workers count from 1. */
export type LogWriter = 'primary' | number

/**
 * The service's log on standard error (standard output is for what a command answers): one JSON object a line, or on a
 * terminal the same in words. Of several processes each line says which one wrote it.
 */
export const createLog = (level: Config['logLevel'], writer?: LogWriter): Logger =>
  pino(
    { level, base: writer === undefined ? null : { process: writer }, timestamp: time },
    process.stderr.isTTY ? terminal : inBatches(writer === undefined ? defaultBatch : atomicBatch),
  )

/** Lines are gathered until they have as many bytes: a system call for each would be a tenth of a request. */
const defaultBatch = { minLength: 8192 }
/** Lines of several processes must not mix: no write is longer than what Linux keeps in one piece (PIPE_BUF, pipe(7)). */
const atomicBatch = { minLength: 3584, maxWrite: 4096 }

/** A batch waits 100 ms at most. */
function inBatches(batch: { minLength: number; maxWrite?: number }) {
  const destination = pino.destination({ dest: 2, sync: true, periodicFlush: 100, ...batch })
  // Not `flushSync`: it repeats a write that fails for ever, as it does when nobody reads the log any more.
  process.once('exit', () => destination.end())
  return destination
}

const terminal = { write: (line: string) => process.stderr.write(`${formatLine(line)}\n`) }

/** A line of the log for people: the time of day, the level unless it is the usual one, the message, the rest. */
export function formatLine(line: string): string {
  const { level, time: at, msg, err, ...rest } = JSON.parse(line) as Record<string, unknown>
  const name = level === pino.levels.values.info ? '' : `${pino.levels.labels[Number(level)]?.toUpperCase()} `
  const fields = Object.entries(rest).map(
    ([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const stack = (err as { stack?: string } | undefined)?.stack
  return `${String(at).slice(11, 19)} ${name}${String(msg ?? '')}${fields.join('')}${stack === undefined ? '' : `\n${stack}`}`
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
