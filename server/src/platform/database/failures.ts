import { DatabaseError } from 'pg'
import { ApiError } from '../model/errors.ts'

/** The request's time for the database is over. */
export class DeadlineExceeded extends Error {}

/** Thrown when a cached credential turns out to be revoked or changed: identify the caller again. */
export class CredentialChanged extends Error {}

/** EAGAIN: the socket of a server that takes no more connections, such as a frozen one, is full (connect(2)). */
const socketFaults = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ENOENT', 'ETIMEDOUT', 'EAI_AGAIN', 'ENOTFOUND', 'EAGAIN'],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'EADDRNOTAVAIL'],
])

/** PostgreSQL's own words for "not now" (appendix A of its manual): shutting down, starting, out of connections. */
const unavailable = new Set(['57P01', '57P02', '57P03', '53300', '53400'])
const outOfSpace = new Set(['53100', '53200'])

/** The code PostgreSQL gave, or undefined when the error is not its own. */
export const sqlState = (error: unknown): string | undefined =>
  error instanceof DatabaseError ? error.code : undefined

/** Was the statement refused by this constraint? */
export const violatesConstraint = (error: unknown, constraint: string): boolean =>
  error instanceof DatabaseError && error.constraint === constraint

/** Did the connection end, or never come about? What was under way on it is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as NodeJS.ErrnoException).code
  if (error instanceof DatabaseError) return unavailable.has(code ?? '') || (code ?? '').startsWith('08')
  if (code !== undefined && socketFaults.has(code)) return true
  return /Connection terminated|timeout exceeded when trying to connect|connection (?:is closed|error)|not queryable/i.test(
    error.message,
  )
}

/** Is the database away or full, or was it when it should have confirmed? Nothing else would succeed now either. */
export const isOutage = (error: unknown): boolean =>
  isConnectionLoss(error) ||
  outOfSpace.has(sqlState(error) ?? '') ||
  (error instanceof ApiError && error.cause !== undefined && isOutage(error.cause))

/** Will it pass by itself? An outage, or a statement that took too long for now. */
export const isTransient = (error: unknown): boolean =>
  isConnectionLoss(error) || (error instanceof ApiError && error.status === 503)

/**
 * Is what this connection has prepared no longer what the database has? A pooler has discarded it (26000) or has something
 * else by its name (42P05), or a migration has changed what it answers with (0A000, which other failures share). It was not
 * run, and would fail so each time.
 */
export const isStalePreparedStatement = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  (error.code === '26000' || error.code === '42P05' || error.routine === 'RevalidateCachedQuery')

/** Is the connection of no more use? */
export const isUnusableConnection = (error: unknown): boolean =>
  isConnectionLoss(error) || isStalePreparedStatement(error)

/** Two transactions met, and one of them had to give way. */
export const isTransactionConflict = (error: unknown): boolean => ['40001', '40P01'].includes(sqlState(error) ?? '')

/**
 * Repeating the transaction is right: two of them met, or what it had found was purged before it could refer to it
 * (23503), which it sees when it looks again, or its connection could not run a statement that is prepared.
 */
export const isRetryable = (error: unknown): boolean =>
  isTransactionConflict(error) || sqlState(error) === '23503' || isStalePreparedStatement(error)

/** Says in the interface's words what the database's fault means for the caller; anything else passes as it is. */
export function toApiError(error: unknown): unknown {
  const retry = { headers: { 'retry-after': '1' }, cause: error }
  if (error instanceof DeadlineExceeded) return new ApiError('timeout', 'The database did not answer in time.', retry)
  const state = sqlState(error)
  if (state === '57014') return new ApiError('timeout', 'The query took too long. Narrow it with filters.', retry)
  if (state === '55P03') return new ApiError('timeout', 'The record is locked by another change. Try again.', retry)
  if (isTransactionConflict(error))
    return new ApiError('overloaded', 'Too many concurrent changes to the same records. Try again.', retry)
  if (state !== undefined && outOfSpace.has(state))
    return new ApiError('overloaded', 'The database is out of space or memory.', retry)
  if (isConnectionLoss(error)) return new ApiError('overloaded', 'The database is not reachable right now.', retry)
  return error
}
