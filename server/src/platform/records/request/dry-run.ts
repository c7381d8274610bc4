import { invalidParameters } from '../../model/errors.ts'
import type { QueryParameter } from './query-string.ts'

/** Whether the caller wants to know only what a request would do. Error: 400. */
export function parseDryRun(query: readonly QueryParameter[]): boolean {
  const dryRun = query.find(({ name }) => name === 'dryRun')?.value ?? 'false'
  if (dryRun !== 'true' && dryRun !== 'false')
    throw invalidParameters([{ field: 'dryRun', message: 'expected true or false' }])
  return dryRun === 'true'
}
