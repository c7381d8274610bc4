import { organizationParameter, raw } from '../../model/sql.ts'
import type { Engine } from './engine.ts'

/** One PostgreSQL server has everything. */
export const single: Engine = {
  name: 'single',
  isDistributed: false,
  organizationOf: organizationParameter,
  combine: () => undefined,
  callOf: () => undefined,
  sizeSql: 'pg_database_size(current_database())',
  tablesOnServers: (own) => [raw(own)],
  deadRowsOnServers: (own) => own,
}
