import { isConnectionLoss } from '../database/failures.ts'
import { ApiError } from '../http/errors.ts'

/** What passes by itself: the database is away, full, or too slow for now. */
export const isPassing = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof ApiError && error.status === 503)

/** For the log: what PostgreSQL adds to its errors (the row, the value) would bring people into it. */
export function reported(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined }
}
