import { defineResource, type Prepared, ownedBy } from '../../platform/records/declare/define.ts'
import {
  choice,
  currency,
  date,
  decimal,
  flag,
  id,
  reference,
  text,
  timestamp,
} from '../../platform/records/declare/fields.ts'
import { properties } from '../../platform/records/declare/object-fields.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { linkResource } from '../../platform/records/declare/links.ts'
import { customProperties, externalIds } from '../../platform/records/declare/json-objects.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import { pipelines } from '../pipelines/resource.ts'
import { dealStatuses, stages } from '../stages/resource.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** What a contact has to do with a deal. */
export const dealRoles = [
  'decision_maker',
  'champion',
  'influencer',
  'budget_holder',
  'user',
  'legal',
  'blocker',
  'other',
] as const

/**
 * The store finds out where a deal goes, because only the database knows which stages a pipeline has. It gets the sent
 * ids as columns: of the values, those that equal the current ones are dropped before.
 */
function prepare(values: JsonObject): Prepared {
  const sent = [
    ['pipeline_id', pipelines.idPrefix, values.pipelineId],
    ['stage_id', stages.idPrefix, values.stageId],
  ] as const
  const ids = sent.flatMap(([column, prefix, value]) =>
    typeof value === 'string' ? [[column, decodeId(prefix, value) ?? null]] : [],
  )
  return { values, hidden: Object.fromEntries(ids) }
}

/** An opportunity to sell something, in a stage of a pipeline. */
export const deals = defineResource({
  name: 'deals',
  singular: 'deal',
  component: 'Deal',
  idPrefix: 'del',
  heading: 'Opportunities to sell something, in the stages of a pipeline.',
  roleGroup: 'records',
  hasViews: true,
  search: ['name'],
  subtitleFields: ['company.name'],
  reach: ownedBy('ownerId'),
  // Moves between stages have a history of their own.
  history: { except: ['pipelineId', 'stageId'] },
  ownEventKinds: ['moved'],
  eventKind: ({ values }) => (values.stageId === undefined ? undefined : 'moved'),
  prepare,
  embedded: {
    pipeline: { label: 'Pipeline', through: 'pipelineId', resource: pipelines, show: ['id', 'name'], orderBy: 'name' },
    stage: {
      label: 'Stage',
      through: 'stageId',
      resource: stages,
      show: ['id', 'name', 'position', 'probability', 'rottingDays'],
      orderBy: 'position',
    },
    company: {
      label: 'Company',
      through: 'companyId',
      resource: companies,
      show: ['id', 'name', 'domain'],
      orderBy: 'name',
    },
  },
  links: {
    contacts: {
      label: 'Contact',
      resource: contacts,
      show: ['id', 'name', 'email'],
      orderBy: 'name',
      singular: 'deal-contact',
      component: 'DealContact',
      idPrefix: 'dct',
      heading: 'The contacts of a deal, each with a role.',
      fields: {
        role: choice(dealRoles, { label: 'Role' }),
        isPrimary: flag({ label: 'Primary', nullable: false, initial: false }),
      },
    },
  },
  fields: {
    id: id('del'),
    name: text({ label: 'Name', required: true, order: 'indexed', searched: true }),
    amount: decimal({ label: 'Amount', order: 'indexed' }),
    currency: currency({
      label: 'Currency',
      description: 'ISO 4217. By default the currency of the organization',
      nullable: false,
    }),
    pipelineId: reference('pip', {
      label: 'Pipeline',
      description:
        'Without a stage, a new deal is in the first stage of this pipeline; without a pipeline, of the organization’s oldest one. Another pipeline moves the deal to its first stage',
      table: 'pipelines',
      nullable: false,
      equality: 'indexed',
    }),
    stageId: reference('stg', {
      label: 'Stage',
      description: 'Another stage moves the deal to the top of it, and closes or reopens it',
      table: 'stages',
      nullable: false,
      equality: 'indexed',
    }),
    status: choice(dealStatuses, {
      label: 'Status',
      description: 'The kind of its stage',
      readOnly: true,
      nullable: false,
      initial: 'open',
      equality: 'indexed',
    }),
    lostReason: text({
      label: 'Lost because',
      description: 'Only a lost deal has a reason; reopening the deal clears it',
      max: 500,
    }),
    ownerId: reference('usr', {
      label: 'Owner',
      table: 'members',
      key: 'user_id',
      softDeleted: false,
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    companyId: reference('com', { label: 'Company', table: 'companies', equality: 'indexed' }),
    expectedCloseDate: date({ label: 'Expected to close on', order: 'indexed' }),
    // As many digits as moves between the same two deals need, so that there is always room.
    position: {
      ...decimal({
        label: 'Position',
        description: 'Its place in the column of its stage on the board: lower is higher up. `…/move` changes it',
        readOnly: true,
        nullable: false,
      }),
      schema: { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$', examples: ['-2.418702'] },
    },
    stageChangedAt: timestamp({
      label: 'In this stage since',
      readOnly: true,
      nullable: false,
    }),
    closedAt: timestamp({
      label: 'Closed at',
      description: 'When it was won or lost; null while it is open',
      readOnly: true,
      order: 'indexed',
    }),
    lastActivityAt: timestamp({
      label: 'Last activity at',
      description: 'Time of the latest note, task or stage move of the deal',
      readOnly: true,
      order: 'indexed',
      neverDecreases: true,
    }),
    externalIds: properties({
      label: 'External ids',
      description:
        'Ids by provider. The first letter of a provider’s name is stored in lower case: `HubSpot` becomes `hubSpot`',
      ...externalIds,
    }),
    customProperties: properties({ label: 'Custom properties', ...customProperties, definable: true }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false, order: 'indexed' }),
  },
})

export const dealContacts = linkResource(deals, 'contacts')
