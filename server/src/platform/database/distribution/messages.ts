/** A server or, with Citus, its worker was lost during a statement or its commit: reported as internal errors (XX000). */
const lostServer = new RegExp(
  [
    '^postmaster was shut down',
    '^failure on connection marked as essential',
    '^could not commit transaction for shard',
    '^failed to (?:commit|prepare) transaction',
    '^failed to send query to',
    '^could not connect to any active placements',
    '^could not establish any connections',
    '^execution cannot recover from multiple connection failures',
  ].join('|'),
)

export const reportsLostServer = (message: string): boolean => lostServer.test(message)

/** Citus names the constraint that was violated only in the message, and there with the number of the shard at its end. */
export const constraintInMessage = (message: string): string | undefined =>
  /constraint "(.+?)(?:_\d{6,})?"/.exec(message)?.[1]
