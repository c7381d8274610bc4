import { recordLimit } from '../../identity/access/record-limit-store.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { choice, decimal, flag, id, longText, text, timestamp } from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import { prepareProperty } from './rules.ts'
import { indexState } from './index-state-store.ts'
import { type Field, propertyTypes } from '../../platform/records/declare/field.ts'

/** The resources whose custom properties can be defined. */
export const definableResources = ['contacts', 'companies', 'deals'] as const

/** The resources whose records a reference can name. */
export const referableResources = ['contacts', 'companies', 'deals', 'members'] as const

/** What happens to new values of keys without a definition. */
export const undeclaredChoices = ['accepted', 'refused'] as const

const maxChoices = 500

const choices = {
  ...document({
    label: 'Choices',
    description:
      'The values of a `choice` or `multiChoice` property, in order. Records keep an archived choice, but none can newly get it. A choice that a record has cannot be removed',
    nullable: false,
    schema: {
      type: 'array',
      maxItems: maxChoices,
      items: {
        type: 'object',
        required: ['value', 'label'],
        additionalProperties: false,
        properties: {
          value: { type: 'string', minLength: 1, maxLength: 100 },
          label: { type: 'string', minLength: 1, maxLength: 200 },
          archived: { type: 'boolean' },
        },
      },
    },
  }),
  initial: [],
} satisfies Field

/** The definition of a custom property. */
export const properties = defineResource({
  name: 'properties',
  singular: 'property',
  component: 'Property',
  idPrefix: 'prp',
  heading: 'Definitions of the custom properties of contacts, companies and deals.',
  roleGroup: 'visible',
  limit: recordLimit(500),
  isSmall: true,
  titleField: 'label',
  audited: {
    create: 'A custom property was defined.',
    update: 'The definition of a custom property was changed.',
    delete: 'The definition of a custom property was deleted.',
    restore: 'The deleted definition of a custom property was restored.',
  },
  uniques: { properties_key_unique: { field: 'key', columns: ['resource', 'key'] } },
  prepare: prepareProperty,
  fields: {
    id: id('prp'),
    resource: choice(definableResources, {
      label: 'Resource',
      description: 'The records that have it; cannot be changed later',
      required: true,
    }),
    key: {
      ...text({
        label: 'Key',
        description: 'Its name in `customProperties`; cannot be changed later',
        required: true,
        max: 64,
      }),
      schema: {
        type: 'string',
        pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
        maxLength: 64,
        format: 'property-key',
        examples: ['renewsOn'],
      },
    },
    type: choice(propertyTypes, {
      label: 'Type',
      description:
        'Which values it has; cannot be changed later. An amount of money is `{"amount": "1250.50", "currency": "EUR"}`; a `multiChoice` is a list; an `instant` is stored in UTC',
      required: true,
    }),
    label: text({ label: 'Label', required: true }),
    description: longText({ label: 'Description', max: 2000 }),
    choices,
    references: choice(referableResources, {
      label: 'Refers to',
      description: 'For a `reference`: the resource whose ids are its values; cannot be changed later',
    }),
    required: flag({
      label: 'Required',
      description: 'Must a new record have it? Existing records may lack it, but none can lose it',
      nullable: false,
      initial: false,
    }),
    unique: flag({
      label: 'Unique',
      description: 'Can only one record that is not deleted have the same value? Addresses are compared without case',
      nullable: false,
      initial: false,
    }),
    default: document({
      label: 'Default',
      description: 'The value of a new record if none is sent; null for none',
      schema: {
        type: ['string', 'number', 'boolean', 'array', 'object'],
        items: { type: 'string' },
        maxItems: maxChoices,
      },
    }),
    indexed: flag({
      label: 'Indexed',
      description: 'Makes filters by its value and sorting by it as fast as those by a built-in field',
      nullable: false,
      initial: false,
    }),
    indexState: {
      ...choice(['none', 'building', 'ready'], {
        label: 'State of the index',
        description:
          'An index is built in the background. Until it is `ready`, filters and orders by the property work without it',
        readOnly: true,
        nullable: false,
      }),
      computed: indexState,
    },
    archived: flag({
      label: 'Archived',
      description:
        'Applications no longer show it, and it is not required. Records keep their values, which are still validated',
      nullable: false,
      initial: false,
    }),
    position: decimal({
      label: 'Position',
      description: 'Its place among the properties of its resource: lower comes first. A new property is the last one',
      nullable: false,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
