import { DatabaseError } from 'pg'
import { ApiError } from '../model/errors.ts'
import { constraintInMessage, reportsLostServer } from './distribution/messages.ts'

/** The request has used up its time for the database. */
export class DeadlineExceeded extends Error {}

/** A cached credential was revoked or changed: identify the caller again. */
export class CredentialChanged extends Error {}

/** What the transaction relied on, read before it began, has changed: nothing was written, and it can be repeated. */
export class OutdatedRead extends Error {}

/** EAGAIN: the socket's backlog is full, for example because the server is frozen (connect(2)). */
const socketErrors = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ENOENT', 'ETIMEDOUT', 'EAI_AGAIN', 'ENOTFOUND', 'EAGAIN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'EADDRNOTAVAIL', 'EMFILE', 'ENFILE'],
])

/** PostgreSQL's codes (manual, appendix A) for shutting down, starting, and out of connections. */
const unavailable = new Set(['57P01', '57P02', '57P03', '53300', '53400'])
const outOfSpace = new Set(['53100', '53200'])

/** Damaged data, a damaged index, or an error of the disk. */
const damage = new Set(['XX001', 'XX002', '58030'])

/** PostgreSQL's error code, or undefined if the error is from elsewhere. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? error.code : undefined

/** The name of the constraint that a statement violated. */
export const violatedConstraint = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? (error.constraint ?? constraintInMessage(error.message)) : undefined

export const violatesConstraint = (error: unknown, constraint: string): boolean =>
  violatedConstraint(error) === constraint

/** The field and the id (uuid) of the holder that a trigger has named, as what a value conflicts with. */
export const namedByTrigger = (error: unknown): { field: string; holderId: string | undefined } | undefined =>
  error instanceof DatabaseError && error.column !== undefined
    ? { field: error.column, holderId: error.detail }
    : undefined

/** Was the connection lost or never opened? The outcome of its pending statements is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as NodeJS.ErrnoException).code
  if (error instanceof DatabaseError)
    return unavailable.has(code ?? '') || (code ?? '').startsWith('08') || reportsLostServer(error.message)
  if (code !== undefined && socketErrors.has(code)) return true
  return /Connection terminated|timeout exceeded when trying to connect|connection (?:is closed|error)|not queryable/i.test(
    error.message,
  )
}

/** Is the database unreachable or full, or did it fail to confirm a commit? Other statements would fail now too. */
export const isOutage = (error: unknown): boolean =>
  isConnectionLoss(error) ||
  outOfSpace.has(sqlState(error) ?? '') ||
  (error instanceof ApiError && error.cause !== undefined && isOutage(error.cause))

/** Can the database not read its data? No attempt will succeed. */
export const isDamage = (error: unknown): boolean => damage.has(sqlState(error) ?? '')

/** Is it worth retrying? True for an outage, and for a statement that took too long. */
export const isTransient = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof ApiError && error.status === 503 && error.code !== 'data_damaged')

/**
 * Is a prepared statement of this connection out of date? A pooler discarded it (26000) or replaced it (42P05), or a
 * migration changed its result (0A000, which other failures share). The statement did not run.
 */
export const isStalePreparedStatement = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  (error.code === '26000' || error.code === '42P05' || error.routine === 'RevalidateCachedQuery')

export const isUnusableConnection = (error: unknown): boolean =>
  isConnectionLoss(error) || isStalePreparedStatement(error)

export const isTransactionConflict = (error: unknown): boolean =>
  error instanceof OutdatedRead || ['40001', '40P01'].includes(sqlState(error) ?? '')

/** Should a single statement be repeated? It did not run or was rolled back, or it does no harm when it runs twice. */
export const isRetryableStatement = (error: unknown): boolean =>
  isUnusableConnection(error) || isTransactionConflict(error)

/** Should it be retried: a conflict, a purged record that it references (23503), or a stale prepared statement? */
export const isRetryableTransaction = (error: unknown): boolean =>
  isTransactionConflict(error) || sqlState(error) === '23503' || isStalePreparedStatement(error)

/** Converts a database error to the API's error; returns other errors unchanged. */
export function toApiError(error: unknown): unknown {
  const retry = { headers: { 'retry-after': '1' }, cause: error }
  if (error instanceof DeadlineExceeded) return new ApiError('timeout', 'The database did not respond in time.', retry)
  const state = sqlState(error)
  if (state === '57014') return new ApiError('timeout', 'The query took too long. Narrow it with filters.', retry)
  if (state === '55P03') return new ApiError('timeout', 'The record is locked by another change. Try again.', retry)
  if (isTransactionConflict(error))
    return new ApiError('overloaded', 'Too many concurrent changes to the same records. Try again.', retry)
  if (state !== undefined && outOfSpace.has(state))
    return new ApiError('overloaded', 'The database is out of space or memory.', retry)
  if (isConnectionLoss(error)) return new ApiError('overloaded', 'The database is not reachable right now.', retry)
  if (isDamage(error))
    return new ApiError('data_damaged', 'Part of the stored data cannot be read. Ask the operator of this service.', {
      ...retry,
      headers: { 'retry-after': '60' },
    })
  return error
}
