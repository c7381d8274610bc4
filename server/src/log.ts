import { type Logger, pino, stdTimeFunctions } from 'pino'
import type { Config } from './config.ts'

/** The service's log: one JSON object a line on standard error; standard output is for what a command answers. */
export const createLog = (level: Config['logLevel']): Logger =>
  pino(
    { level, base: null, timestamp: stdTimeFunctions.isoTime, redact: ['*.authorization', '*.token', '*.password'] },
    process.stderr,
  )
