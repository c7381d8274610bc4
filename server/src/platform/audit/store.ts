import type { CrossTenantConnection, Transaction } from '../database/database.ts'
import { combinable, sql } from '../model/sql.ts'
import { newId } from '../model/ids.ts'
import type { StandardAction } from '../records/declare/define.ts'
import type { JsonObject } from '../model/json.ts'

/** The audit log's actions other than the standard changes; identity/audit-log/actions.ts declares them. */
export interface NamedActions {
  'scope.denied': string
  'access.denied': string
}

export type NamedAction = keyof NamedActions

export type AuditAction = NamedAction | StandardAction

/** Kinds of actors: a person, an API key, the command line, or an unknown caller. */
export const actorKinds = ['user', 'key', 'command', 'anonymous'] as const
export type ActorKind = (typeof actorKinds)[number]

/** What happened. Contains names and ids, never secrets or field values. */
export interface PersonEvent {
  action: AuditAction
  actorKind: ActorKind
  /** As callers see it, such as `usr_…`; null if unknown. */
  actorId: string | null
  /** The record's singular noun, such as `import`. */
  recordType?: string | undefined
  /** As callers see it, such as `imp_…`. */
  recordId?: string | undefined
  address?: string | undefined
  requestId?: string | undefined
  details?: JsonObject | undefined
}

export interface AuditEvent extends PersonEvent {
  /** A uuid. */
  organizationId: string
}

/** Inserts the event in the transaction of the change it describes, so both are committed or neither. */
export async function recordEvent(transaction: Transaction | CrossTenantConnection, event: AuditEvent): Promise<void> {
  const hasOrganization = 'organization' in transaction
  if (hasOrganization && transaction.organizationId !== event.organizationId) {
    throw new Error('An audit event must belong to the organization of its transaction.')
  }
  const organization = hasOrganization ? transaction.organization : sql`${event.organizationId}::uuid`
  // Its time is that of the change, which the same server reads.
  await transaction.query(
    combinable(sql`insert into audit_events (organization_id, id, ${eventColumns})
        values (${organization}, ${newId()}::uuid, ${eventValues(event)}) returning id`),
  )
}

export const recordCommand = (
  transaction: Transaction | CrossTenantConnection,
  organizationId: string,
  action: AuditAction,
  record: Pick<PersonEvent, 'recordType' | 'recordId' | 'details'>,
): Promise<void> => recordEvent(transaction, { organizationId, action, actorKind: 'command', actorId: null, ...record })

/** The columns of an event other than its organization and id, and their values. */
export const eventColumns = sql`action, actor_kind, actor_id, record_type, record_id, address, request_id, details`

export const eventValues = (event: PersonEvent) =>
  sql`${event.action}::text, ${event.actorKind}::text, ${event.actorId}::text, ${event.recordType ?? null}::text,
    ${event.recordId ?? null}::text, ${event.address ?? null}::text, ${event.requestId ?? null}::text,
    ${JSON.stringify(event.details ?? {})}::jsonb`
