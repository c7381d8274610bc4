import type { Actor } from './caller.ts'
import type { JsonObject } from './fields.ts'
import type { Sql } from './sql.ts'

/** On whose behalf a statement runs, as far as it decides which records it reaches. */
export type Reader = Pick<Actor, 'kind' | 'userId' | 'role'>

/** Which records of a resource an actor sees and changes. For everyone else a record does not exist: 404. */
export interface Reach {
  /**
   * A boolean for the record in the table `record`; undefined if the actor sees all of them. Only the kind of the actor
   * may change its text, because prepared statements have one text for each kind.
   */
  sees(actor: Reader, record: Sql): Sql | undefined
  /** May the actor change a record that they see? Otherwise 403. */
  mayChange(actor: Reader, record: JsonObject): boolean
}
