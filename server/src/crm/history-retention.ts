import type { RetentionPolicy } from '../platform/operations/maintenance/retention-store.ts'
import { columnOf, type Resource } from '../platform/records/declare/define.ts'
import { changesTable } from '../platform/records/declare/tables.ts'

/** Changes in the history of records that are older than this many days. The records stay. */
export const expiredChanges = (resources: readonly Resource[], days: number): RetentionPolicy[] =>
  resources
    .filter(({ history }) => history)
    .map((resource) => ({
      name: `${resource.singular} history`,
      table: changesTable(resource),
      key: { [columnOf(`${resource.singular}Id`)]: 'uuid', id: 'uuid' },
      since: 'created_at',
      ttlSeconds: days * 24 * 60 * 60,
    }))
