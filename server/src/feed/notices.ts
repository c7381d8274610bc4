import type { Connection, Database } from '../platform/database/database.ts'
import type { JsonObject } from '../platform/model/json.ts'

/** A person (uuid) in an organization (uuid). */
export interface NoticedPerson {
  organizationId: string
  userId: string
}

/** What the state of a person is, and the number of its last change. */
export interface Notice {
  number: number
  /** The type of the server-sent event, and its data. */
  event: string
  data: JsonObject
}

/** What streams send to people besides the events of the feed. */
export interface Notices {
  /** The numbers of the last changes; those without any are missing. */
  readNumbers(database: Database, people: readonly NoticedPerson[]): Promise<(NoticedPerson & { number: number })[]>
  read(db: Connection, userId: string): Promise<Notice>
}
