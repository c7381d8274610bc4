import { type Sql, sql } from '../../platform/model/sql.ts'

/** The state of the index of the property `record`. */
export const indexState = (record: Sql, organization: Sql): Sql => sql`coalesce((
  select state from property_indexes
  where organization_id = ${organization} and property_id = ${record}.id and state <> 'dropped'), 'none')`
