import type pg from 'pg'
import type { Sql } from '../../model/sql.ts'
import type { OrganizationStatement } from '../fixed-statements.ts'
import type { Combine } from '../transaction-attempt.ts'

/** What differs between one PostgreSQL and Citus, where other servers have the records (docs/decisions/0019-places.md). */
export interface Engine {
  readonly name: 'single' | 'citus'
  /** True if the directory and the records are on different servers, so that no statement can use both. */
  readonly isDistributed: boolean
  /** The organization (uuid) in the statements of its connection; the planner sees it if it needs it to find the records. */
  organizationOf(id: string): Sql
  /** Combines statements of a transaction about this organization; undefined if each is sent on its own. */
  combine(organizationId: string): Combine | undefined
  /** A statement and those sent with it, as one query; undefined if it is sent like any other. */
  callOf(statement: OrganizationStatement): OrganizationCall | undefined
  /** The size of the database on all servers, in bytes, as SQL. */
  readonly sizeSql: string
  /** Queries of the tables (`name`) that this query finds on any server. */
  tablesOnServers(own: string): readonly Sql[]
  /** For a query of `name`, `dead`, `rows` and `cleaned` of a server's tables: those of all servers. */
  deadRowsOnServers(own: string): string
}

export interface OrganizationCall {
  query: pg.QueryConfig
  rowsOf(result: pg.QueryResult): object[]
}
