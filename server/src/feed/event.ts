import { apiKeys } from '../identity/api-keys/resource.ts'
import { members } from '../identity/members/resource.ts'
import { imports } from '../intake/imports/resource.ts'
import { rows } from '../intake/rows/resource.ts'
import { encodeId } from '../platform/model/ids.ts'
import {
  changeSources,
  type ChangeSource,
  type EventKind,
  eventKinds,
} from '../platform/records/declare/event-kinds.ts'
import type { Resource } from '../platform/records/declare/define.ts'
import { id } from '../platform/records/declare/fields.ts'
import { ownFields } from '../platform/records/page/select.ts'
import { closedObject } from '../platform/records/routes/daily-statistics.ts'
import type { FieldChange } from '../platform/records/write/events.ts'
import type { JsonObject, Schema } from '../platform/model/json.ts'
import { formatPosition } from './position.ts'

/** An event as it is stored; ids are uuids. */
export interface StoredEvent {
  id: string
  position: number
  resource: string
  kind: EventKind
  recordId: string
  revision: number | null
  source: ChangeSource
  authorId: string | null
  keyId: string | null
  importId: string | null
  importRowId: string | null
  changes: readonly FieldChange[]
  values: JsonObject | null
  createdAt: string
}

export const eventPrefix = 'chg'

/** The event as callers see it. */
export function showEvent(event: StoredEvent, { resource, epoch }: { resource: Resource; epoch: string }): JsonObject {
  const { kind, source, createdAt, revision } = event
  const shown = (prefix: string, uuid: string | null) => (uuid === null ? null : encodeId(prefix, uuid))
  return {
    id: encodeId(eventPrefix, event.id),
    position: formatPosition({ epoch, number: event.position }),
    type: `${event.resource}.${kind}`,
    resource: event.resource,
    kind,
    recordId: encodeId(resource.idPrefix, event.recordId),
    revision,
    values: valuesOf(event, resource),
    changes: event.changes.map(({ field, before, after }) => ({ field, before, after })),
    cause: {
      kind: source,
      userId: shown(members.idPrefix, event.authorId),
      keyId: shown(apiKeys.idPrefix, event.keyId),
      importId: shown(imports.idPrefix, event.importId),
      importRowId: shown(rows.idPrefix, event.importRowId),
    },
    createdAt,
  }
}

/** What the record has of its own: what it shows of other records is in their events. */
function valuesOf({ kind, values, revision, createdAt }: StoredEvent, resource: Resource): JsonObject | null {
  if (values === null || kind === 'deleted' || kind === 'purged' || kind === 'erased') return null
  const shown: JsonObject = {}
  for (const name of ownFields(resource)) {
    const value = values[name]
    if (value === undefined) continue
    shown[name] = value === 'now' && resource.fields[name]?.databaseType === 'timestamptz' ? createdAt : value
  }
  const isWhole = kind === 'created' || kind === 'restored'
  if (!isWhole && revision !== null && 'updatedAt' in resource.fields) shown.updatedAt = createdAt
  return shown
}

const text = { type: 'string' }
const orNull = (schema: Schema): Schema => ({ ...schema, type: [schema.type, 'null'] })

export const eventSchema = closedObject({
  id: id(eventPrefix).schema,
  position: { ...text, description: 'Send it as `after` to continue behind this event.' },
  type: { ...text, pattern: '^[a-z-]+\\.[a-z]+$', description: '`resource` and `kind`, such as `contact.updated`.' },
  resource: { ...text, description: 'The singular noun of the resource, as in scopes.' },
  kind: { ...text, enum: eventKinds },
  recordId: { ...text, pattern: '^[a-z]{3}_[0-9a-f]{32}$' },
  revision: {
    type: ['integer', 'null'],
    description: 'The revision of the record after the change; null if the change does not count as one.',
  },
  values: {
    type: ['object', 'null'],
    description:
      'For `created` and `restored` the whole record, for other changes the changed fields with their new values; null once it is deleted, and in all events of a record that has been purged or erased since. Without what the record shows of others, what is computed when it is read, and `lastActivityAt`.',
  },
  changes: {
    type: 'array',
    description: 'What somebody has set, with the values before and after.',
    items: closedObject({
      field: { ...text, description: 'For a key of an object, its path, such as `customProperties.plan`' },
      before: { description: 'Any JSON value; null if the field was empty' },
      after: { description: 'Any JSON value; null if the change cleared the field' },
    }),
  },
  cause: closedObject({
    kind: { ...text, enum: changeSources },
    userId: { ...orNull(id(members.idPrefix).schema), description: 'The person, or the creator of the API key.' },
    keyId: {
      ...orNull(id(apiKeys.idPrefix).schema),
      description: 'Compare it with the key of your program, so that it does not follow its own changes.',
    },
    importId: orNull(id(imports.idPrefix).schema),
    importRowId: orNull(id(rows.idPrefix).schema),
  }),
  createdAt: { ...text, format: 'date-time' },
})
