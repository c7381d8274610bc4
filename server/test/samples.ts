import type { Resource } from '../src/platform/records/declare/define.ts'
import { normalizers } from '../src/platform/model/normalizers.ts'
import type { JsonValue, JsonObject } from '../src/platform/model/json.ts'
import type { Field } from '../src/platform/records/declare/field.ts'

/** Ids that a sample may refer to, by prefix; those of one resource by `prefix of resource`. */
export type References = Readonly<Record<string, readonly string[]>>

/** Fields of which a new record needs at least one, in addition to its required fields. */
const requiredOneOf: Readonly<Record<string, readonly string[]>> = { contacts: ['email', 'name'] }

/** Values of fields with a special format, and of choices that a new record cannot have all of. */
const validSamples: Readonly<Record<string, readonly JsonValue[]>> = {
  'campaigns.status': ['draft'],
  // Only owners can invite an owner.
  'invitations.expiresInDays': [7, 1, 30, 14],
  'invitations.role': ['member', 'viewer', 'admin'],
  'members.role': ['member', 'viewer', 'admin'],
  // An index is built in the background, which the record shows.
  'properties.indexed': [false],
  'properties.position': ['2', '-3', '1.5'],
  // Others would apply to every deal of the organization.
  'properties.required': [false],
  'properties.resource': ['deals'],
  'properties.type': ['text'],
  'properties.unique': [false],
  'roles.scopes': [['urn:service:contact:list:read'], ['urn:service:contact:*:read', 'urn:service:team:get:read']],
  // The API returns all resources.
  'roles.reach': [
    { contact: 'own', company: 'all', deal: 'team', task: 'own', campaign: 'all' },
    { contact: 'team', company: 'own', deal: 'all', task: 'all', campaign: 'own' },
  ],
  'api-keys.scopes': [['urn:service:contact:list:read'], ['urn:service:contact:*:read', 'urn:service:team:get:read']],
  'stages.kind': ['open'],
  'stages.position': [0],
  'stages.probability': [10, 25, 60],
  'views.resource': ['contacts'],
  'views.filter': [{ name: { contains: 'a' } }, { or: [{ tags: { has: 'vip' } }, { 'company.name': { not: null } }] }],
  'views.columns': [['name', 'email', 'company.name'], ['customProperties.plan'], ['tags', 'createdAt']],
  'views.orderBy': ['name', 'createdAt', 'customProperties.plan'],
  'views.position': ['2', '-3', '1.5'],
  'views.columnWidths': [{ name: 240 }, { 'company.name': 180, tags: 90 }],
  'views.pinnedColumns': [2, 1, 0],
  'views.groupBy': ['companyId', 'rootContactId'],
  // With a filter, the events must be those of one resource.
  'a body.type': ['contact.created', 'contact.updated'],
  'webhooks.events': [['contact.*'], ['contact.created', 'contact.updated']],
  'webhooks.scopes': [['urn:service:contact:list:read']],
  'webhooks.filter': [{ name: { contains: 'a' } }, { or: [{ tags: { has: 'vip' } }, { email: { not: null } }] }],
  'webhooks.changedFields': [['email'], ['customProperties.plan', 'tags'], ['name']],
  'webhooks.status': ['enabled', 'paused'],
  'a body.payload': [{ contact: { email: 'ada@example.com' } }],
  'api-keys.allowedAddresses': [['203.0.113.0/24'], ['127.0.0.1', '2001:db8::/32']],
}

/** Fields that only some records can have; the tests of the resource cover them. */
const conditionalFields: readonly string[] = [
  'deals.lostReason',
  'invitations.roleId',
  'members.roleId',
  'properties.choices',
  'properties.default',
  'properties.references',
  'tasks.dueAt',
  'tasks.companyId',
  'tasks.dealId',
  'tasks.remindAt',
  'tasks.remindBefore',
  'tasks.recurrence',
]

/** Fields whose value the service chooses if none is sent. */
export const chosenFields: readonly string[] = [
  'deals.currency',
  'properties.position',
  'rows.email',
  'stages.position',
  'stages.probability',
  'tasks.assigneeId',
  'views.position',
]

/** Fields that have the same value in all samples. */
const uniformFields: readonly string[] = [
  ...conditionalFields,
  'properties.indexed',
  'refused-pushes.acceptedAt',
  'refused-pushes.address',
  'refused-pushes.code',
  'refused-pushes.contentType',
  'refused-pushes.isTruncated',
  'refused-pushes.rowId',
  'refused-pushes.sender',
  'refused-pushes.userAgent',
  'properties.indexState',
  'properties.required',
  'properties.resource',
  'properties.type',
  'properties.unique',
  'stages.kind',
  'stage-moves.movedById',
  'views.resource',
  'views.isShared',
  'views.ownerId',
  'tasks.reminderAt',
  'tasks.nextTaskId',
  'suggestions.engine',
  'suggestions.importId',
  'suggestions.waitingReason',
  'suggestions.resultDealId',
  'suggestions.resultContactId',
  'suggestions.resultDeal',
  'suggestions.resultContact',
  'webhooks.scopes',
  'webhooks.statusReason',
  'webhooks.headerNames',
  'webhooks.createdBy',
  'note-analyses.summary',
  'note-analyses.suspicious',
  'note-analyses.engine',
  'note-analyses.model',
  'note-analyses.promptVersion',
  'note-analyses.latencyMs',
  'note-analyses.tokens',
  'note-analyses.degraded',
  'note-analyses.degradedReason',
]

/** Can the value that a new record gets not be changed later? */
export const isFixed = (resource: Resource, name: string): boolean =>
  ['properties.key', 'webhooks.scopes'].includes(`${resource.name}.${name}`)

/** Have all samples of this field the same value? Entries of a timeline are all of one kind there. */
export const isUniform = (resource: Resource, name: string): boolean =>
  resource.name === 'timeline-entries' || uniformFields.includes(`${resource.name}.${name}`)

/** What follows from the stage of a deal. */
const ofStage = ['pipeline', 'stage', 'status', 'position', 'stageChangedAt', 'closedAt', 'lastActivityAt']

/** Values that can be combined with every other field of the resource. */
const compatibleValues: Readonly<Record<string, JsonObject>> = {
  employments: { current: false },
  // A restored link is not the primary one again.
  'deal-contacts': { isPrimary: false },
}

function ofAddress(name: string): Record<string, readonly string[]> {
  const parts = ['street', 'postalCode', 'city', 'state', 'countryCode']
  return Object.fromEntries(parts.map((part) => [`${name}.${part}`, ['formattedAddress']]))
}

/** Properties that depend on another field, besides the embedded records. */
const derivedFields: Readonly<Record<string, readonly string[]>> = {
  'contacts.name': ['firstName', 'lastName'],
  'contacts.firstName': ['name'],
  'contacts.lastName': ['name'],
  'contacts.email': ['rootContactId', 'emails'],
  'contacts.emails': ['rootContactId', 'email'],
  'contacts.phone': ['phones'],
  'contacts.phones': ['phone'],
  ...ofAddress('contacts'),
  ...ofAddress('companies'),
  'notes.body': ['reasoningQueuedAt'],
  'deals.pipelineId': ['stageId', ...ofStage],
  'deals.stageId': ['pipelineId', ...ofStage],
  'tasks.dueDate': ['deadline'],
  'tasks.done': ['doneAt'],
}

export function fieldOf(resource: Resource, name: string): Field {
  const field = resource.fields[name]
  if (!field) throw new Error(`${resource.name} has no field ${name}`)
  return field
}

/** The fields that a caller may send. */
export const writableFields = (resource: Resource): string[] =>
  Object.keys(resource.fields).filter(
    (name) => fieldOf(resource, name).writable && !conditionalFields.includes(`${resource.name}.${name}`),
  )

/** The properties that may change when the field changes. */
export const dependentFields = (resource: Resource, name: string): string[] => [
  ...(derivedFields[`${resource.name}.${name}`] ?? []),
  ...Object.keys(resource.embedded).filter((member) => resource.embedded[member]?.through === name),
]

/** The smallest body that creates a record. */
export function minimalBody(resource: Resource, index: number, references: References): JsonObject {
  const writable = writableFields(resource)
  const requiredName = requiredOneOf[resource.name]?.find((name) => writable.includes(name))
  const names = writable.filter((name) => fieldOf(resource, name).required || name === requiredName)
  return Object.fromEntries(names.map((name) => [name, sampleValue(resource, name, index, references)]))
}

/** Values with which everyone in the organization sees a record. */
const sharing: Readonly<Record<string, JsonObject>> = { views: { isShared: true } }

/** The smallest body that creates a record which everyone in the organization sees. */
export const sharedBody = (resource: Resource, index: number, references: References): JsonObject => ({
  ...minimalBody(resource, index, references),
  ...sharing[resource.name],
})

/** Every field that a caller may send. */
export function fullBody(resource: Resource, index: number, references: References): JsonObject {
  const names = writableFields(resource)
  const values = Object.fromEntries(names.map((name) => [name, sampleValue(resource, name, index, references)]))
  return { ...values, ...compatibleValues[resource.name] }
}

/** Some of the fields; which ones depends on the index, so that records differ. */
export function variedBody(resource: Resource, index: number, references: References): JsonObject {
  const names = writableFields(resource).filter((_, position) => (index + position) % 4 !== 0)
  const values = Object.fromEntries(names.map((name) => [name, sampleValue(resource, name, index, references)]))
  const consistent =
    values.current === true ? Object.entries(values).filter(([name]) => name !== 'end') : Object.entries(values)
  return { ...Object.fromEntries(consistent), ...minimalBody(resource, index, references) }
}

/** A value that the field stores unchanged; different for each index, as far as possible. */
export function sampleValue(resource: Resource, name: string, index: number, references: References): JsonValue {
  const field = fieldOf(resource, name)
  const { schema, databaseType, list } = field
  // The primary entry alone, which has the same address as the sample of the field with it.
  if (list) {
    const address = sampleValue(resource, list.primary, index, references)
    const more = Object.fromEntries(list.moreNames.map((more) => [more, null]))
    return [{ [list.item]: address, kind: cycle(['work', 'personal', 'mobile'], index), primary: true, ...more }]
  }
  if (field.idPrefix !== undefined) {
    return cycle(references[`${field.idPrefix} of ${resource.name}`] ?? idsOf(references, field.idPrefix), index)
  }
  const choices = validSamples[`${resource.name}.${name}`] ?? schema.enum
  if (choices) return cycle(choices as readonly JsonValue[], index)
  if (typeof schema.format === 'string') return sampleOfFormat(schema.format, name, index)
  if (field.normalize === normalizers.handle) return `handle.${index}`
  switch (databaseType) {
    case 'boolean':
      return index % 2 === 0
    case 'integer':
      return cycle([1999, 7, 250, 42], index)
    case 'double precision':
      return cycle([13.4, -33.875, 0.1, 77], index)
    case 'numeric':
      return cycle(['1250000.50', '-3', '0.001', '12345678901234567890'], index)
    case 'text[]':
      return cycle([['red', `blue ${index}`], ['Red'], ['x,y', 'Émile', 'red'], ['a']], index)
    case 'jsonb':
      return schema.additionalProperties === true ? customProperties(index) : { billing: `cus_${index}` }
    default:
      return `${cycle(['Émile', 'ada', 'Über', 'zoe'], index)} ${index}`
  }
}

/** The known ids with this prefix. Throws if there are none, so that no case is skipped silently. */
export function idsOf(references: References, prefix: string): readonly string[] {
  const ids = references[prefix]
  if (!ids || ids.length === 0) throw new Error(`There is no test record with an id of the form ${prefix}_…`)
  return ids
}

function cycle<Value>(values: readonly Value[], index: number): Value {
  const value = values[index % values.length]
  if (value === undefined) throw new Error('there are no values')
  return value
}

function sampleOfFormat(format: string, name: string, index: number): string {
  switch (format) {
    case 'email':
      return `Person.${index}@example.com`
    case 'password':
      return `quiet violet harbour ${index}`
    case 'phone':
      return `+4930123${1000 + index}`
    case 'uri':
      return `https://example.com/${index}`
    case 'hostname':
      return `sample-${index}.com`
    case 'time-zone':
      return cycle(['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'UTC'], index)
    case 'property-key':
      return `key${index}`
    case 'country-code':
      return cycle(['DE', 'US', 'JP', 'BR'], index)
    case 'year-month':
      return `${(name === 'end' ? 2040 : 2010) + (index % 10)}-0${1 + (index % 9)}`
    case 'date':
      return `${2040 + (index % 50)}-0${1 + (index % 9)}-15`
    case 'currency-code':
      return cycle(['EUR', 'USD', 'JPY'], index)
    case 'date-time':
      return `${2040 + (index % 50)}-01-31T12:00:00.000Z`
    default:
      throw new Error(`There is no sample of the format ${format}`)
  }
}

/** The same key has values of every type, because a property without a definition accepts all of them. */
function customProperties(index: number): JsonValue {
  const mixed = cycle<JsonValue>([12, '12', 'Émile', true, ['red', 'blue'], '2026-03-01', -4.5, { inner: 1 }], index)
  return { plan: cycle(['pro', 'Basic', 'écru'], index), mixed, deep: { level: index } }
}

/** A value of each JSON type that the field rejects. */
export function wrongTypes(field: Field): JsonValue[] {
  const values: readonly (readonly [string, JsonValue])[] = [
    ['string', 'text'],
    ['number', 4.5],
    ['boolean', true],
    ['array', [1]],
    ['object', { first: 1 }],
  ]
  const type = field.schema.type === 'integer' ? 'number' : field.schema.type
  return values.filter(([name]) => name !== type).map(([, value]) => value)
}
