import type { Logger } from 'pino'
import { resources } from './app.ts'
import type { Config } from './config.ts'
import type { Database } from './platform/database/database.ts'
import type { Secret } from './platform/secret/secret.ts'
import { createKeyMaintenance } from './identity/access/signing-keys-maintenance.ts'
import { createAuditLogMaintenance } from './identity/audit-log/maintenance.ts'
import { findOrganizationIds } from './identity/organizations/store.ts'
import { createOrganizationRemoval } from './identity/organizations/removal.ts'
import { feedDays } from './crm/history-retention-store.ts'
import { organizationsByRecords } from './identity/teams/store.ts'
import type { Metrics } from './platform/http/metrics.ts'
import { startSweep, type Wakeups } from './platform/queue/wakeups.ts'
import { startClearing } from './feed/clearing.ts'
import { startPlacing } from './feed/placing.ts'
import { eventQueue } from './feed/positions-store.ts'
import { definableField } from './platform/records/properties/values.ts'
import { createMaintenance } from './platform/operations/maintenance/maintenance.ts'
import { tablesByPlace } from './places.ts'
import { retentionPolicies } from './retention-policies.ts'
import { importQueue } from './intake/work/queue-store.ts'
import { noteQueue } from './assistant/work/queue-store.ts'
import { startMail } from './identity/mails/start.ts'
import { startDigests } from './inbox/digest/start.ts'
import { addEntries } from './inbox/entries-store.ts'
import { startNotifier } from './inbox/notifier.ts'
import { inboxQueue } from './inbox/notifier-store.ts'
import { pushQueue } from './inbox/push/entries-store.ts'
import { startPush } from './inbox/push/start.ts'
import { startReminders } from './crm/tasks/reminders.ts'
import { noticeQueue } from './crm/tasks/reminders-store.ts'

interface BackgroundOptions {
  config: Config
  database: Database
  secret: Secret
  log: Logger
  wakeups: Wakeups
  ready: Promise<unknown>
  /** The origin of links in mails. */
  findOrigin: () => Promise<string>
  metrics: Metrics
}

/** Background work of one process for the whole service: sends mails, purges data, rotates signing keys. */
export function startBackground({ config, findOrigin, metrics, ...options }: BackgroundOptions) {
  const mail = startMail({ ...config, findOrigin, ...options })
  const push = startPush({ ...config, ...options })
  const { defaultLanguage } = config
  const digests = startDigests({ ...options, defaultLanguage, wakeMail: () => mail.wake() })
  const organizations = (after: string | undefined, limit: number) =>
    findOrganizationIds(options.database, after, limit)
  const clearing = startClearing({ ...options, days: feedDays(config), organizations })
  const maintenance = createMaintenance({
    ...options,
    retentionPolicies: retentionPolicies(config),
    organizations,
    rendered: resources.filter(({ renderingVersion }) => renderingVersion !== undefined),
    definable: resources.filter((resource) => definableField(resource) !== undefined),
    purged: (name, count) => metrics.purged(name, count),
  })
  const keyMaintenance = createKeyMaintenance(options)
  const auditLogMaintenance = createAuditLogMaintenance(options)
  const organizationRemoval = createOrganizationRemoval({ ...options, directory: tablesByPlace.directory })
  const sweep = startSweep({
    ...options,
    organizations: organizationsByRecords,
    kinds: [importQueue, noteQueue, eventQueue, pushQueue],
  })
  // Nobody announces that a time has come, and events are announced to who places them.
  const frequentSweep = startSweep({
    ...options,
    organizations: organizationsByRecords,
    name: 'inbox',
    seconds: 5,
    kinds: [inboxQueue, noticeQueue],
  })
  const placing = startPlacing(options)
  const passOn = (organizationId: string) => {
    mail.wake()
    options.wakeups.announce(pushQueue.kind, [organizationId], () => push.wake())
  }
  const notifier = startNotifier({ ...options, onAdded: passOn })
  const reminders = startReminders({ ...options, addNotices: addEntries, onSent: passOn })
  const messages = [notifier, reminders, push, digests, mail]
  const loops = [
    sweep,
    frequentSweep,
    placing,
    ...messages,
    maintenance,
    clearing,
    keyMaintenance,
    auditLogMaintenance,
    organizationRemoval,
  ]
  const close = async () => void (await Promise.all(loops.map((loop) => loop.close())))
  return { mail, close }
}
