import type { RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import { columnOf, type Resource } from '../platform/records/declare/define.ts'

/** Changes in the history of records that are older than this many days. The records stay. */
export const expiredChanges = (resources: readonly Resource[], days: number): RetentionPolicy[] =>
  resources
    .filter(({ history }) => history)
    .map(({ singular }) => ({
      name: `${singular} history`,
      table: `${singular}_changes`,
      key: { [columnOf(`${singular}Id`)]: 'uuid', id: 'uuid' },
      since: 'created_at',
      ttlSeconds: days * 24 * 60 * 60,
    }))
