import type { Transaction } from '../../database/database.ts'
import { violatesConstraint } from '../../database/failures.ts'
import { identifier, isOneOf, preparedForOne, raw, sql } from '../../model/sql.ts'
import { organizationOf } from '../filter/scope.ts'
import type { Resource } from '../declare/define.ts'
import { externalIdsTable } from '../declare/tables.ts'
import { decodeId } from '../../model/ids.ts'
import { UniqueConflict } from './unique-conflict.ts'
import type { PendingChange } from '../declare/changes.ts'

/** Updates the table that makes external ids unique (per organization or team). The next result can be a `UniqueConflict`. */
export function syncExternalIds(transaction: Transaction, resource: Resource, pending: readonly PendingChange[]): void {
  const touched = pending.filter(touchesExternalIds)
  const ids = touched.map(({ id }) => id)
  if (ids.length === 0) return
  const table = externalIdsTable(resource)
  const owner = identifier(`${resource.singular}_id`)
  const team = raw('teamId' in resource.fields ? ', team_id' : '')
  const existing = touched.filter(({ before }) => before).map(({ id }) => id)
  if (existing.length > 0)
    transaction.send(
      preparedForOne(
        existing,
        sql`delete from ${identifier(table)}
        where organization_id = ${transaction.organization} and ${isOneOf(owner, existing, 'uuid')} returning provider`,
      ),
    )
  transaction.send(
    preparedForOne(
      ids,
      sql`insert into ${identifier(table)} (organization_id${team}, provider, value, ${owner})
      select ${organizationOf(transaction, raw('organization_id'))}${team}, external.key, external.value, id
      from ${identifier(resource.table)}, jsonb_each_text(external_ids) external
      where organization_id = ${transaction.organization} and ${isOneOf(raw('id'), ids, 'uuid')} and deleted_at is null
      -- Two sets that want the same ids meet at the same one first.
      order by external.key, external.value returning provider`,
    ),
    (error) =>
      violatesConstraint(error, `${table}_pkey`)
        ? new UniqueConflict(resource, 'externalIds', holderOf(transaction, resource, pending), { cause: error })
        : error,
  )
}

/** A new record with external ids, or a change to its ids, its team or its deletion. */
export function touchesExternalIds({ before, values, columns }: PendingChange): boolean {
  if (!before) return Object.keys(values.externalIds ?? {}).length > 0
  return 'externalIds' in values || 'teamId' in values || 'deleted_at' in columns
}

/** Finds the record that has one of the set's external ids, in the same team. */
function holderOf(transaction: Transaction, resource: Resource, pending: readonly PendingChange[]) {
  const wanted = pending.flatMap(({ before, values }) => {
    const { externalIds, teamId } = { ...before, ...values }
    return Object.entries(externalIds ?? {}).map(([provider, value]) => ({
      provider,
      value,
      team_id: decodeId('tea', String(teamId)) ?? null,
    }))
  })
  const owner = identifier(`${resource.singular}_id`)
  const ofTeam = raw('teamId' in resource.fields ? 'and wanted.team_id = held.team_id' : '')
  return sql`select ${owner} as id from ${identifier(externalIdsTable(resource))} held
    where organization_id = ${transaction.organization} and ${owner} <> all(${pending.map(({ id }) => id)}::uuid[])
      and exists (
        select from jsonb_to_recordset(${JSON.stringify(wanted)}::jsonb) as wanted(team_id uuid, provider text, value text)
        where wanted.provider = held.provider and wanted.value = held.value ${ofTeam})
    limit 1`
}
