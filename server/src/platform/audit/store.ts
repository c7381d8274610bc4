import type { Spanning, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { JsonObject } from '../resource/fields.ts'
import { newId } from '../resource/ids.ts'
import type { ActorKind, AuditAction } from './actions.ts'

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
export async function recordEvent(transaction: Transaction | Spanning, event: AuditEvent): Promise<void> {
  const isBound = 'organization' in transaction
  if (isBound && transaction.organizationId !== event.organizationId) {
    throw new Error('An event belongs to the organization of its transaction.')
  }
  const organization = isBound ? transaction.organization : sql`${event.organizationId}::uuid`
  await transaction.query(sql`
    insert into audit_events (organization_id, id, ${columns})
    values (${organization}, ${newId()}::uuid, ${valuesOf(event)})`)
}

/** Writes down what the command line did, in the transaction of its effect. */
export const recordCommand = (
  transaction: Transaction | Spanning,
  organizationId: string,
  action: AuditAction,
  record: { recordType: string; recordId: string },
): Promise<void> => recordEvent(transaction, { organizationId, action, actorKind: 'command', actorId: null, ...record })

/** Writes what happened to a person (a login, a factor) into the log of each organization that the person is in. */
export async function recordPersonEvent(spanning: Spanning, userId: string, event: PersonEvent): Promise<void> {
  const memberships = await spanning.query<{ id: string }>(
    sql`select organization_id as id from members where user_id = ${userId}::uuid order by 1`,
  )
  if (memberships.length === 0) return
  const organizations = memberships.map(({ id }) => id)
  await spanning.query(sql`
    insert into audit_events (organization_id, id, ${columns})
    select own.organization_id, own.id, ${valuesOf(event)}
    from unnest(${organizations}::uuid[], ${organizations.map(newId)}::uuid[]) own (organization_id, id)`)
}

const columns = sql`action, actor_kind, actor_id, record_type, record_id, address, request_id, details`

const valuesOf = (event: PersonEvent) =>
  sql`${event.action}::text, ${event.actorKind}::text, ${event.actorId}::text, ${event.recordType ?? null}::text,
    ${event.recordId ?? null}::text, ${event.address ?? null}::text, ${event.requestId ?? null}::text,
    ${JSON.stringify(event.details ?? {})}::jsonb`
