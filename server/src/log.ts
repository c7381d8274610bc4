import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

/** The service's log: one JSON object a line on standard error; standard output is for what a command answers. */
export const createLog = (level: Config['logLevel']): Logger =>
  pino({ level, base: null, timestamp: time }, pino.destination(destination))

// Lines are gathered for 100 ms or 8 KiB: a system call for each would be a tenth of a request. pino writes the rest at exit.
const destination = { dest: 2, sync: true, minLength: 8192, periodicFlush: 100 }

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
