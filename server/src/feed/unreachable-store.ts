import type { Connection } from '../platform/database/database.ts'
import { decodeId, encodeId } from '../platform/model/ids.ts'
import type { PersonalReach } from '../platform/model/reach.ts'
import { identifier, join, raw, sql } from '../platform/model/sql.ts'
import { columnOf, listedAcrossParents, type Resource } from '../platform/records/declare/define.ts'
import { root } from '../platform/records/filter/target.ts'
import { withinReach } from '../platform/records/page/page.ts'
import { scopeOf } from '../platform/records/page/read.ts'
import type { FieldChange } from '../platform/records/write/events.ts'

/** A record that has left the reader's reach. */
export interface UnreachableRecord {
  /** The singular noun. */
  resource: string
  recordId: string
}

interface Row {
  resource: string
  id: string
  changes: readonly FieldChange[]
  /** Today; uuids. */
  ownerId: string | null
  teamId: string | null
}

/** Of the records that changed between two positions, those that were within the person's reach and no longer are. */
export async function findUnreachable(
  db: Connection,
  { after, reached, resources }: { after: number; reached: number; resources: readonly Resource[] },
): Promise<UnreachableRecord[]> {
  const personal = db.actor.reach
  const owned = resources.filter((resource) => personal?.levels[resource.singular] && resource.reach?.ownerField)
  if (!personal || owned.length === 0 || after >= reached) return []
  const scope = scopeOf(db, undefined)
  const record = raw(root)
  const parts = owned.map((declared) => {
    const resource = listedAcrossParents(declared)
    const [owner, team] = fieldsOf(resource).map((field) =>
      field === undefined ? raw('null::uuid') : sql`${record}.${identifier(columnOf(field))}`,
    )
    return sql`
      select event."position", event.resource, event.record_id as id, event.changes,
        ${owner} as "ownerId", ${team} as "teamId"
      from events event join ${identifier(resource.table)} ${record}
        on ${record}.organization_id = ${scope.organization} and ${record}.id = event.record_id
      where event.organization_id = ${scope.organization} and event.resource = ${resource.singular}
        and event."position" > 0 and event."position" > ${after}::bigint and event."position" <= ${reached}::bigint
        and event.kind = 'updated' and ${record}.deleted_at is null
        and not (${join(withinReach(resource, scope), ' and ')})`
  })
  const rows = await db.query<Row>(sql`${join(parts, ' union all ')} order by "position"`)
  return rows.flatMap((row) => {
    const resource = owned.find(({ singular }) => singular === row.resource)
    if (!resource || !wasReached(row, resource, personal)) return []
    return [{ resource: row.resource, recordId: encodeId(resource.idPrefix, row.id) }]
  })
}

const fieldsOf = ({ reach }: Resource): readonly [string | undefined, string | undefined] => [
  reach?.ownerField,
  reach?.teamField,
]

/** Was the record within reach before the change? As `filter/scope.ts` decides it today. */
function wasReached({ changes, ownerId, teamId }: Row, resource: Resource, personal: PersonalReach): boolean {
  const [ownerField, teamField] = fieldsOf(resource)
  const before = (field: string | undefined, today: string | null): string | null => {
    const change = field === undefined ? undefined : changes.find((one) => one.field === field)
    if (!change) return today
    const prefix = resource.fields[field ?? '']?.idPrefix ?? ''
    return typeof change.before === 'string' ? (decodeId(prefix, change.before) ?? null) : null
  }
  if (!changes.some(({ field }) => field === ownerField || field === teamField)) return false
  const [owner, team] = [before(ownerField, ownerId), before(teamField, teamId)]
  if (owner === personal.userId.value) return true
  if (personal.levels[resource.singular] !== 'team') return false
  const isAmong = (ids: unknown, id: string | null) => (ids as (string | null)[]).includes(id)
  const isColleagues = isAmong(personal.colleagueIds.value, owner)
  if (teamField === undefined) return isColleagues
  return isAmong(personal.teamIds.value, team) || (team === personal.defaultTeamId.value && isColleagues)
}
