/** For the log: what PostgreSQL adds to its errors (the row, the value) would bring people into it. */
export function errorForLog(error: unknown): { error: string; stack: string | undefined } {
  return error instanceof Error
    ? { error: error.message, stack: error.stack }
    : { error: String(error), stack: undefined }
}
