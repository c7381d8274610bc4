import type { CrossTenantConnection, Transaction } from '../database/database.ts'
import { sql } from '../model/sql.ts'
import type { JsonObject } from '../model/fields.ts'
import { newId } from '../model/ids.ts'
import type { StandardAction } from '../model/define.ts'

/** The audit log's actions beside the standard changes of resources; identity/audit-log/actions.ts declares them. */
export interface NamedActions {
  'scope.denied': string
  'access.denied': string
}

export type NamedAction = keyof NamedActions

export type AuditAction = NamedAction | StandardAction

/** Who can have done something: a person, an API key, the command line, or nobody knows who. */
export const actorKinds = ['user', 'key', 'command', 'anonymous'] as const
export type ActorKind = (typeof actorKinds)[number]

/** What happened. Holds names and ids; never a secret, and no value of a field. */
export interface PersonEvent {
  action: AuditAction
  actorKind: ActorKind
  /** As callers see it, such as `usr_…`; null for whoever is not known. */
  actorId: string | null
  /** The singular noun of what it is about, such as `import`. */
  recordType?: string | undefined
  /** As callers see it, such as `imp_…`. */
  recordId?: string | undefined
  /** The client's IP address. */
  address?: string | undefined
  requestId?: string | undefined
  details?: JsonObject | undefined
}

export interface AuditEvent extends PersonEvent {
  /** A uuid. */
  organizationId: string
}

/** Writes the event down in the transaction of what it tells: both are kept, or neither is. */
export async function recordEvent(transaction: Transaction | CrossTenantConnection, event: AuditEvent): Promise<void> {
  const hasOrganization = 'organization' in transaction
  if (hasOrganization && transaction.organizationId !== event.organizationId) {
    throw new Error('An audit event must belong to the organization of its transaction.')
  }
  const organization = hasOrganization ? transaction.organization : sql`${event.organizationId}::uuid`
  await transaction.query(sql`
    insert into audit_events (organization_id, id, ${eventColumns})
    values (${organization}, ${newId()}::uuid, ${eventValues(event)})`)
}

/** Writes down what the command line did, in the transaction of its effect. */
export const recordCommand = (
  transaction: Transaction | CrossTenantConnection,
  organizationId: string,
  action: AuditAction,
  record: { recordType: string; recordId: string },
): Promise<void> => recordEvent(transaction, { organizationId, action, actorKind: 'command', actorId: null, ...record })

/** The columns that an event fills besides whose it is and its id, and their values. */
export const eventColumns = sql`action, actor_kind, actor_id, record_type, record_id, address, request_id, details`

export const eventValues = (event: PersonEvent) =>
  sql`${event.action}::text, ${event.actorKind}::text, ${event.actorId}::text, ${event.recordType ?? null}::text,
    ${event.recordId ?? null}::text, ${event.address ?? null}::text, ${event.requestId ?? null}::text,
    ${JSON.stringify(event.details ?? {})}::jsonb`
