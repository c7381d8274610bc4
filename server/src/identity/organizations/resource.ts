import { memberRoles } from '../../platform/model/scopes.ts'
import type { Update } from '../../platform/records/declare/define.ts'
import { type BodyShape, bodyShapeOf } from '../../platform/records/request/body.ts'
import { currency, flag, id, reference, text, timeZone } from '../../platform/records/declare/fields.ts'

export const name = text({ label: 'Name', required: true, max: 100 })

/** The fields of an organization that can be changed. */
const settings = {
  name,
  timeZone: timeZone({ label: 'Time zone', nullable: false }),
  defaultCurrency: currency({ label: 'Default currency', description: 'ISO 4217', nullable: false }),
  requiresSecondFactor: flag({
    label: 'Requires a second factor',
    description:
      'Sessions without a second factor are rejected until the member sets one up. Only an owner who has re-authenticated within the last five minutes can change it, and only one with a second factor can turn it on',
    nullable: false,
  }),
}

export const settingsShape: BodyShape<Update<{ fields: typeof settings }>> = {
  mode: 'update',
  readOnly: ['id', 'slug', 'createdAt', 'updatedAt'],
  fields: settings,
}

/** The body that creates an organization. */
export const newShape = bodyShapeOf({
  name,
  timeZone: timeZone({ label: 'Time zone', description: 'IANA name. Default: `UTC`' }),
})

/** The body that selects an organization. */
export const choiceShape = bodyShapeOf({
  organizationId: { ...reference('org', { label: 'Organization', required: true }), schema: id('org').schema },
})

/** The body that deletes an organization. */
export const deletionShape = bodyShapeOf({
  name: text({ label: 'Name', description: 'The exact name of the organization', required: true, max: 100 }),
})

const properties = {
  id: { type: 'string', pattern: '^org_[0-9a-f]{32}$' },
  name: { type: 'string' },
  slug: {
    type: 'string',
    description: 'Consists of the original name and a random ending; does not change when the organization is renamed',
  },
  timeZone: { type: 'string' },
  defaultCurrency: { type: 'string' },
  requiresSecondFactor: { type: 'boolean' },
  createdAt: { type: 'string', format: 'date-time' },
  updatedAt: { type: 'string', format: 'date-time' },
}

export const organizationSchema = {
  type: 'object',
  required: Object.keys(properties),
  additionalProperties: false,
  properties,
}

/** An organization that is being deleted. */
export const deletionSchema = {
  type: 'object',
  required: ['id', 'name', 'deletesAt'],
  additionalProperties: false,
  properties: {
    id: properties.id,
    name: properties.name,
    deletesAt: {
      type: 'string',
      format: 'date-time',
      description: 'When it is deleted; until then, this can be undone',
    },
  },
}

const ownProperties = {
  id: properties.id,
  name: properties.name,
  slug: properties.slug,
  role: { type: 'string', enum: memberRoles },
}

/** One of a person's own organizations. */
export const membershipSchema = {
  type: 'object',
  required: Object.keys(ownProperties),
  additionalProperties: false,
  properties: ownProperties,
}

/** A person's own organizations. */
export const membershipsSchema = {
  type: 'array',
  items: {
    ...membershipSchema,
    required: [...membershipSchema.required, 'isCurrent', 'deletesAt'],
    properties: {
      ...ownProperties,
      isCurrent: { type: 'boolean', description: 'Whether requests of this session that name none use it' },
      deletesAt: {
        type: ['string', 'null'],
        format: 'date-time',
        description: 'When the organization will be deleted; until then, it refuses access',
      },
    },
  },
}
