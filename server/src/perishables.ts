import { resources } from './app.ts'
import type { Config } from './config.ts'
import { lapsedLogins } from './identity/access/login-store.ts'
import { lapsedTokens } from './identity/access/one-time-token-store.ts'
import { endedSessions, lapsedSessions } from './identity/access/store.ts'
import { oldFailures } from './identity/access/throttle-store.ts'
import type { Sql } from './platform/model/sql.ts'
import { droppedMails, endedMails } from './identity/mails/queue-store.ts'
import { storedAnswers } from './platform/http/idempotency-store.ts'
import { deletedRecords } from './platform/upkeep/deleted-store.ts'
import type { Perishable } from './platform/upkeep/store.ts'
import { endedKeyTexts } from './identity/api-keys/store.ts'
import { leftRoots } from './resources/contacts/upkeep-store.ts'
import { oldFactorFailures, spentChallenges } from './identity/second-factors/store.ts'
import { lapsedSteps } from './identity/single-sign-on/flow-store.ts'
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
  endedKeyTexts,
  storedAnswers,
  endedSessions,
  endedMails,
  droppedMails,
  lapsedSessions,
  lapsedTokens,
  lapsedLogins,
  spentChallenges,
  lapsedSteps,
  oldFactorFailures,
  oldFailures,
]
