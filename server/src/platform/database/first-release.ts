/** Whether something was not made by a release: all databases and backups of releases begin with the same file. */
export const isFromBeforeFirstRelease = (applied: readonly string[], schema: readonly string[]): boolean =>
  applied.length > 0 && schema[0] !== undefined && !applied.includes(schema[0])

export const unreleasedDatabase =
  'The database was made by a Rapport from before 0.1.0, which no release can continue. Nothing was changed. Use an empty database, or another DATA_DIR.'

export const unreleasedBackup =
  'The backup was made by a Rapport from before 0.1.0, which no release can restore. Nothing was changed.'
