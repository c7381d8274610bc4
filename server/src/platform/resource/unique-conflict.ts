import { displayNoun, type Resource } from '../model/define.ts'
import type { Sql } from '../model/sql.ts'

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
