/** Leaves out what PostgreSQL adds to its errors (the row, the value), so that no personal data enters the log. */
export function errorForLog(error: unknown): { error: string; cause?: string; stack?: string | undefined } {
  if (!(error instanceof Error)) return { error: String(error) }
  const { message, cause, stack } = error
  return { error: message, ...(cause instanceof Error && { cause: cause.message }), stack }
}
