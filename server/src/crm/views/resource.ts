import { recordLimit } from '../../identity/access/record-limit-store.ts'
import { defineResource, type Prepared, type Resource } from '../../platform/records/declare/define.ts'
import {
  choice,
  decimal,
  flag,
  id,
  integer,
  reference,
  stringList,
  text,
  timestamp,
} from '../../platform/records/declare/fields.ts'
import { document } from '../../platform/records/declare/object-fields.ts'
import { campaigns } from '../campaigns/resource.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { deals } from '../deals/resource.ts'
import { allNotes } from '../notes/resource.ts'
import { tasks } from '../tasks/resource.ts'
import { viewReach } from './reach-store.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** The resources with views, as their list shows them. */
export const viewable: readonly Resource[] = [contacts, companies, deals, campaigns, tasks, allNotes]

const names = ['contacts', 'companies', 'deals', 'campaigns', 'tasks', 'notes'] as const

/** Maximum length of a filter as JSON. */
const maxFilterLength = 50_000

const maxColumns = 200
const maxColumnWidth = 10_000

const prepare = (values: JsonObject, current: JsonObject | undefined): Prepared =>
  current && values.resource !== undefined && values.resource !== current.resource
    ? { values, errors: [{ field: 'resource', message: 'cannot be changed; create another view' }] }
    : { values }

/** A filter, an order and columns under a name, which lists apply with `?view=`. */
export const views = defineResource({
  name: 'views',
  singular: 'view',
  component: 'View',
  idPrefix: 'vie',
  heading: 'Saved views of lists: filters, order and columns, for one person or for everyone.',
  roleGroup: 'records',
  reach: viewReach,
  limit: recordLimit(5000),
  prepare,
  fields: {
    id: id('vie'),
    name: text({ label: 'Name', required: true }),
    resource: choice(names, {
      label: 'Resource',
      description: 'The records that it shows; cannot be changed later',
      required: true,
      equality: 'indexed',
    }),
    filter: {
      ...document({
        label: 'Filter',
        description: 'The filter tree of a search',
        nullable: false,
        initial: {},
        schema: { type: 'object', additionalProperties: true },
      }),
      normalize: (value) =>
        JSON.stringify(value).length > maxFilterLength
          ? { error: `expected at most ${maxFilterLength} characters of JSON` }
          : { value },
    },
    query: text({ label: 'Query', description: 'The full-text search of a list' }),
    columns: stringList({ label: 'Columns', description: 'The fields that a table shows, in order', max: maxColumns }),
    columnWidths: document({
      label: 'Column widths',
      description: 'The widths of columns in pixels, by the names of their fields',
      nullable: false,
      initial: {},
      schema: {
        type: 'object',
        additionalProperties: { type: 'integer', minimum: 1, maximum: maxColumnWidth },
        maxProperties: maxColumns,
      },
    }),
    pinnedColumns: integer({
      label: 'Pinned columns',
      description: 'How many of the first columns stay in sight when the table scrolls',
      nullable: false,
      initial: 0,
      min: 0,
      max: maxColumns,
    }),
    orderBy: text({ label: 'Order by', description: 'The field to sort by' }),
    sort: choice(['asc', 'desc'] as const, { label: 'Sort' }),
    layout: choice(['table', 'board'] as const, { label: 'Layout', nullable: false, initial: 'table' }),
    groupBy: text({ label: 'Group by', description: 'The field whose values are the columns of a board' }),
    isShared: flag({
      label: 'Shared',
      description: 'If false, only its owner sees it',
      nullable: false,
      initial: false,
    }),
    position: decimal({
      label: 'Position',
      description: 'Its place among the views of its resource: lower comes first. A new view is the last one',
      nullable: false,
    }),
    ownerId: reference('usr', {
      label: 'Owner',
      description: 'The person who created it, also with an API key',
      readOnly: true,
      nullable: false,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
