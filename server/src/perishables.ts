import { resources } from './app.ts'
import type { Config } from './config.ts'
import { endedSessions } from './platform/access/store.ts'
import type { Sql } from './platform/database/sql.ts'
import { storedAnswers } from './platform/http/idempotency-store.ts'
import { deletedRecords } from './platform/upkeep/deleted-store.ts'
import type { Perishable } from './platform/upkeep/store.ts'
import { leftRoots } from './resources/contacts/upkeep-store.ts'
import { endedRows, endedTriggers, hasWaitingRows, pushKeys } from './resources/imports/upkeep-store.ts'

/** What of a resource stays although it was deleted long ago, beyond what its declaration says. */
const spared: Readonly<Record<string, (organization: Sql) => Sql>> = { imports: hasWaitingRows }

/** Everything that is kept for a while only, in the order in which it is purged. */
export const perishables = ({ importRowsDays }: Pick<Config, 'importRowsDays'>): Perishable[] => [
  ...resources
    .filter(({ softDelete }) => softDelete)
    .map((resource) => deletedRecords(resource, resources, spared[resource.name])),
  leftRoots,
  ...(importRowsDays > 0 ? [endedRows(importRowsDays)] : []),
  pushKeys,
  endedTriggers,
  storedAnswers,
  endedSessions,
]
