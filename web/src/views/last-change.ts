import { type Schemas, send, type Whole } from '../api/client.ts'
import type { Conflict } from '../api/conflict.ts'
import type { ResourceSchema } from '../api/schema.ts'
import { type Names, readNames } from '../api/names.ts'
import { resourceViews } from '../registry/resources.ts'
import type { Entry } from '../api/timeline.ts'

type AuditEvent = Whole<Schemas['AuditEventSelection']>

interface LastChange {
  at: string | undefined
  /** Undefined if the person cannot know it. */
  authorId: string | undefined
  names: Names
  /** The entry of the timeline. */
  entry: Entry | undefined
}

const withTimeline: readonly string[] = ['contacts', 'companies', 'deals']
const auditPath = '/v5/audit-log'

/** The author and time of a field's last change: from the timeline or, for records without one, from the audit log. */
export async function lastChangeOf(conflict: Conflict, schema: readonly ResourceSchema[]): Promise<LastChange> {
  if (withTimeline.includes(conflict.resource)) {
    const entry = await lastEntry(conflict)
    return { at: entry?.createdAt, authorId: entry?.authorId ?? undefined, names: await readNames(entry ?? {}), entry }
  }
  const mayReadLog = schema.some(({ path, permissions }) => path === auditPath && permissions.list)
  const event = mayReadLog ? await lastEvent(conflict) : undefined
  const authorId = event?.actorId ?? undefined
  return { at: event?.createdAt, authorId, names: await readNames([authorId]), entry: undefined }
}

async function lastEntry({ resource, path, field, current }: Conflict) {
  const query = new URLSearchParams({
    limit: '50',
    'filter.kind.in': field === resourceViews[resource]?.groupedBy ? 'stage_move' : 'change,import',
  })
  const { body } = await send<Entry[]>('GET', `${path}/timeline`, { query })
  const isOwn = ({ contactId, companyId, dealId }: Entry) => (contactId ?? dealId ?? companyId) === current.id
  const isOfField = ({ stageMove, change }: Entry) =>
    stageMove !== null || change?.changes?.some((one) => one.field === field) === true
  return body.find((one) => isOwn(one) && isOfField(one))
}

async function lastEvent({ current }: Conflict) {
  const query = new URLSearchParams({ 'filter.recordId.equals': current.id, limit: '1' })
  const { body } = await send<AuditEvent[]>('GET', auditPath, { query })
  return body[0]
}
