import type { BodyShape } from '../../platform/resource/body.ts'
import { flag, id, reference, text, timeZone } from '../../platform/resource/fields.ts'
import type { Normalize } from '../../platform/resource/texts.ts'

const currencies: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'))

const currencyOf: Normalize = (value) => {
  const code = String(value).toUpperCase()
  return currencies.has(code) ? { value: code } : { fault: 'must be an ISO 4217 currency code such as EUR' }
}

export const name = text({ label: 'Name', required: true, max: 100 })

/** What of an organization can be changed. */
export const settingsShape: BodyShape = {
  mode: 'update',
  readOnly: ['id', 'slug', 'createdAt', 'updatedAt'],
  fields: {
    name,
    timeZone: timeZone({ label: 'Time zone', nullable: false }),
    defaultCurrency: {
      ...text({ label: 'Default currency', description: 'ISO 4217', nullable: false, max: 3 }),
      normalize: currencyOf,
    },
    requiresSecondFactor: flag({
      label: 'Requires a second factor',
      description:
        'Members whose session has none are let in nowhere until they have set one up. Changed by an owner who has proved who they are within the last five minutes, and turned on by one who has a second factor',
      nullable: false,
    }),
  },
}

/** The body that makes an organization. */
export const newShape: BodyShape = { mode: 'create', readOnly: [], fields: { name } }

/** The body that chooses one. */
export const choiceShape: BodyShape = {
  mode: 'create',
  readOnly: [],
  fields: {
    organizationId: { ...reference('org', { label: 'Organization', required: true }), schema: id('org').schema },
  },
}

const properties = {
  id: { type: 'string', pattern: '^org_[0-9a-f]{32}$' },
  name: { type: 'string' },
  slug: { type: 'string', description: 'Stays as it was when the organization is renamed' },
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

const ownProperties = {
  id: properties.id,
  name: properties.name,
  slug: properties.slug,
  role: { type: 'string', enum: ['owner', 'admin', 'member', 'viewer'] },
}

/** One of a person's own organizations. */
export const membershipSchema = {
  type: 'object',
  required: Object.keys(ownProperties),
  additionalProperties: false,
  properties: ownProperties,
}
