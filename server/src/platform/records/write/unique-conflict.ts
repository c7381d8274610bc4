import { displayNoun, type Resource } from '../declare/define.ts'
import type { Connection } from '../../database/database.ts'
import { identifier, raw, type Sql, sql } from '../../model/sql.ts'
import { andWithinReach, isRestricted } from '../filter/scope.ts'
import { scopeOf } from '../page/read.ts'

/** Another record has the unique value; the pipeline turns this into a 409 with that record's id. */
export class UniqueConflict extends Error {
  readonly resource: Resource
  readonly field: string
  readonly holder: Sql
  readonly reason: string

  constructor(resource: Resource, field: string, holder: Sql, more: { cause?: unknown; reason?: string }) {
    super(`${resource.name}: ${field} is taken`, { cause: more.cause })
    this.resource = resource
    this.field = field
    this.holder = holder
    this.reason = more.reason ?? `is taken by another ${displayNoun(resource.singular)}`
  }
}

/** The id (uuid) of the record that has the value; undefined if it is out of the reader's reach. */
export async function findHolder(db: Connection, { resource, holder }: UniqueConflict): Promise<string | undefined> {
  const scope = scopeOf(db, undefined)
  const seen = sql`select record.id from ${identifier(resource.table)} record
    where record.organization_id = ${db.organization} and record.id = (${holder})
      ${andWithinReach(resource, scope, raw('record'))}`
  const [row] = await db.query<{ id: string }>(isRestricted(resource, scope) ? seen : holder)
  return row?.id
}
