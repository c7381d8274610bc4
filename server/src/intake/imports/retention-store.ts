import { type Sql, sql } from '../../platform/model/sql.ts'
import type { RemovalCounts, RetentionPolicy } from '../../platform/operations/maintenance/retention-store.ts'
import { pushKeyHours } from '../accept/intake-store.ts'
import { deleteSecrets } from './secrets-store.ts'

const hour = 60 * 60

const removedRowCounts: RemovalCounts = {
  columns: ['import_id', 'status'],
  statement: sql`insert into import_row_counts (organization_id, import_id, status, change)
    select organization_id, import_id, status, -count(*) from removed group by organization_id, import_id, status`,
}

/** Adds to the purge of deleted imports that their rows are counted and their URLs deleted. */
export const withImportData = (policy: RetentionPolicy): RetentionPolicy => ({
  ...policy,
  dependents: (policy.dependents ?? []).map((dependent) =>
    dependent.table === 'import_rows' ? { ...dependent, counts: removedRowCounts } : dependent,
  ),
  afterRemoval: (transaction, keys) =>
    deleteSecrets(
      transaction,
      keys.map(([id = '']) => id),
    ),
})

/** Rows that finished this many days ago, with their payloads. */
export const finishedRows = (days: number): RetentionPolicy => ({
  name: 'rows',
  table: 'import_rows',
  key: { id: 'uuid' },
  since: 'finished_at',
  ttlSeconds: days * 24 * hour,
  counts: removedRowCounts,
  excluded: () => sql`record.status in ('PENDING', 'RETRYING', 'PROCESSING')`,
})

/** An import with unfinished rows is retained. */
export const hasWaitingRows = (organization: Sql): Sql => sql`exists (
  select from import_rows waiting where waiting.organization_id = ${organization} and waiting.import_id = record.id
    and waiting.status in ('PENDING', 'RETRYING', 'PROCESSING'))`

/** Idempotency-Keys of pushes. */
export const pushKeys: RetentionPolicy = {
  name: 'push_keys',
  table: 'import_push_keys',
  key: { import_id: 'uuid', key_hash: 'bytea' },
  since: 'created_at',
  ttlSeconds: pushKeyHours * hour,
}

const day = 24 * hour

/** The bytes that imports have received. */
export const pushedBytes: RetentionPolicy = {
  name: 'pushed_bytes',
  table: 'import_pushed_bytes',
  key: { import_id: 'uuid', counted_on: 'timestamptz', slot: 'smallint' },
  since: 'counted_on',
  ttlSeconds: 90 * day,
}

/** Refused pushes, what is known of their senders, and their counts, which statistics read. */
export const refusals: readonly RetentionPolicy[] = [
  { name: 'refused_pushes', table: 'refused_pushes', key: { id: 'uuid' }, since: 'created_at', ttlSeconds: 30 * day },
  {
    name: 'refused_senders',
    table: 'refused_senders',
    key: { import_id: 'uuid', sender: 'text' },
    since: 'last_at',
    ttlSeconds: 30 * day,
  },
  {
    name: 'refused_push_counts',
    table: 'refused_push_counts',
    key: { import_id: 'uuid', code: 'text', counted_at: 'timestamptz' },
    since: 'counted_at',
    ttlSeconds: 90 * day,
  },
]

/** Previous URLs that have expired after a rotation. */
export const expiredSecrets = (['import_triggers', 'import_secrets'] as const).map((table): RetentionPolicy => ({
  name: table,
  table,
  key: { import_id: 'uuid', hash: 'bytea' },
  since: 'expires_at',
  ttlSeconds: 0,
}))
