import { contactRemoval } from './api/contact-removal.ts'
import { resources } from './app.ts'
import type { Config } from './config.ts'
import { expiredPendingLogins } from './identity/access/login-store.ts'
import { expiredOneTimeTokens } from './identity/access/one-time-token-store.ts'
import { endedSessions, expiredSessions } from './identity/access/store.ts'
import { expiredLoginFailures } from './identity/access/throttle-store.ts'
import type { Sql } from './platform/model/sql.ts'
import type { Resource } from './platform/records/declare/define.ts'
import { expiredAuditEvents } from './identity/audit-log/retention-store.ts'
import { expiredEvents, formerHistoryOf } from './crm/history-retention-store.ts'
import { droppedMails, endedMails } from './identity/mails/queue-store.ts'
import { storedResponsePolicy } from './platform/http/effects/idempotency-store.ts'
import { deletedRecords } from './platform/operations/maintenance/deleted-store.ts'
import type { RetentionPolicy } from './platform/operations/maintenance/retention-store.ts'
import { expiredEntries } from './inbox/store.ts'
import { tablesByPlace } from './places.ts'
import { endedPresences } from './presence/store.ts'
import { endedDeliveries } from './webhooks/delivery-store.ts'
import { endedSecrets } from './webhooks/secrets-store.ts'
import { expiredKeyHashes } from './identity/api-keys/store.ts'
import { orphanedRootContacts } from './crm/contacts/retention-store.ts'
import { expiredFactorFailures, spentChallenges } from './identity/second-factors/store.ts'
import { expiredSteps } from './identity/single-sign-on/flow-store.ts'
import {
  expiredSecrets,
  finishedRows,
  hasWaitingRows,
  pushedBytes,
  pushKeys,
  refusals,
  withImportData,
} from './intake/imports/retention-store.ts'

/** Deleted records that are retained beyond their period, in addition to what the declarations say. */
const excluded: Readonly<Record<string, (organization: Sql) => Sql>> = { imports: hasWaitingRows }

function removalOf(resource: Resource): RetentionPolicy {
  const { dependents = [], ...policy } = deletedRecords(resource, resources, excluded[resource.name])
  return { ...policy, dependents: [...dependents, ...formerHistoryOf(policy.table)] }
}

/** Days for which data are retained; 0 retains them forever. */
type RetentionSettings = Pick<Config, 'importRowsDays' | 'auditLogDays' | 'historyDays' | 'eventDays'>

/** All data with limited retention, in the order in which it is purged. */
export const retentionPolicies = (config: RetentionSettings): RetentionPolicy[] =>
  orderedPolicies(config).map((policy) => ({ ...policy, isInDirectory: directory.has(policy.table) }))

const directory = new Set<string>(tablesByPlace.directory)

const orderedPolicies = ({
  importRowsDays,
  auditLogDays,
  historyDays,
  eventDays,
}: RetentionSettings): RetentionPolicy[] => [
  ...resources
    .filter(({ softDelete }) => softDelete)
    .map((resource) => (resource.name === 'contacts' ? contactRemoval(resources) : removalOf(resource)))
    .map((policy) => (policy.table === 'imports' ? withImportData(policy) : policy)),
  orphanedRootContacts,
  ...(importRowsDays > 0 ? [finishedRows(importRowsDays)] : []),
  ...(auditLogDays > 0 ? [expiredAuditEvents(auditLogDays)] : []),
  ...expiredEvents(historyDays, eventDays),
  pushKeys,
  pushedBytes,
  ...refusals,
  ...expiredSecrets,
  expiredKeyHashes,
  endedSecrets,
  endedDeliveries(eventDays),
  expiredEntries,
  endedPresences,
  storedResponsePolicy,
  endedSessions,
  endedMails,
  droppedMails,
  expiredSessions,
  expiredOneTimeTokens,
  expiredPendingLogins,
  spentChallenges,
  expiredSteps,
  expiredFactorFailures,
  expiredLoginFailures,
]
