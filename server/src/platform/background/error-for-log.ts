/** Leaves out what PostgreSQL adds to its errors (the row, the value), so that no personal data enters the log. */
export function errorForLog(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined }
}
