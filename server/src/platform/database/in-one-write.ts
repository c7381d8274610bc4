import type pg from 'pg'

/** Sends everything up to the next tick in one write, because each write wakes the process at the other end. */
export function inOneWrite<Result>(
  { connection: { stream } }: Pick<pg.PoolClient, 'connection'>,
  send: () => Result,
): Result {
  stream.cork()
  process.nextTick(() => stream.uncork())
  return send()
}
