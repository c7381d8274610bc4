import { type Schemas, send } from '../api/client.ts'
import type { Conflict } from '../api/conflict.ts'
import type { ResourceSchema } from '../api/schema.ts'
import { readNames } from '../timeline/names.ts'

type Entry = Required<Schemas['TimelineEntrySelection']>
type AuditEvent = Required<Schemas['AuditEventSelection']>

interface LastChange {
  at: string | undefined
  /** Undefined if that is not known to this person. */
  authorId: string | undefined
  name: string | undefined
}

const withTimeline: readonly string[] = ['contacts', 'companies', 'deals']
const auditPath = '/v5/audit-log'

/** Who changed a field last, and when: from the timeline or, for records without one, from the audit log. */
export async function lastChangeOf(conflict: Conflict, schema: readonly ResourceSchema[]): Promise<LastChange> {
  const found = withTimeline.includes(conflict.resource)
    ? await lastEntry(conflict)
    : schema.some(({ path, permissions }) => path === auditPath && permissions.list)
      ? await lastEvent(conflict)
      : undefined
  const authorId = found?.authorId ?? undefined
  const names = authorId === undefined ? {} : await readNames([authorId])
  return { at: found?.at, authorId, name: authorId === undefined ? undefined : names[authorId] }
}

async function lastEntry({ path, field, current }: Conflict) {
  const query = new URLSearchParams({
    limit: '50',
    'filter.kind.in': field === 'stageId' ? 'stage_move' : 'change,import',
  })
  const { body } = await send<Entry[]>('GET', `${path}/timeline`, { query })
  const isOwn = ({ contactId, companyId, dealId }: Entry) => (contactId ?? dealId ?? companyId) === current.id
  const isOfField = ({ stageMove, change }: Entry) =>
    stageMove !== null || change?.changes.some((one) => one.field === field) === true
  const entry = body.find((one) => isOwn(one) && isOfField(one))
  return entry && { authorId: entry.authorId, at: entry.createdAt }
}

async function lastEvent({ current }: Conflict) {
  const query = new URLSearchParams({ 'filter.recordId.equals': current.id, limit: '1' })
  const { body } = await send<AuditEvent[]>('GET', auditPath, { query })
  const [event] = body
  return event && { authorId: event.actorId, at: event.createdAt }
}
