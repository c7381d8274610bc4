import {
  defineResource,
  listedAcrossParents,
  type Parent,
  type Resource,
  underParent,
} from '../src/platform/model/define.ts'
import {
  choice,
  decimal,
  flag,
  id,
  integer,
  longText,
  reference,
  text,
  timestamp,
} from '../src/platform/model/fields.ts'
import { linkResource } from '../src/platform/model/links.ts'
import { standardRoutes } from '../src/platform/routes/standard-routes.ts'
import { standardStore } from '../src/platform/resource/store.ts'
import { companies } from '../src/resources/companies/resource.ts'
import { contacts } from '../src/resources/contacts/resource.ts'

// Resources with each kind of relationship, for tests only: a pipeline with ordered stages, a deal with several
// contacts, and a remark on a contact, a company or a deal.

const times = {
  createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
  updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
} as const

const pipelines = defineResource({
  name: 'pipelines',
  singular: 'pipeline',
  component: 'Pipeline',
  idPrefix: 'pip',
  roleGroup: 'records',
  fields: { id: id('pip'), name: text({ label: 'Name', required: true }), ...times },
})

const stages = defineResource({
  name: 'stages',
  singular: 'stage',
  component: 'Stage',
  idPrefix: 'stg',
  roleGroup: 'records',
  parent: { parameter: 'pipelineId', resource: pipelines, column: 'pipeline_id', isSmall: true },
  positionField: 'position',
  fields: {
    id: id('stg'),
    name: text({ label: 'Name', required: true }),
    position: integer({ label: 'Position', min: 0, max: 1000, nullable: false }),
    ...times,
  },
})

export const deals = defineResource({
  name: 'deals',
  singular: 'deal',
  component: 'Deal',
  idPrefix: 'dea',
  roleGroup: 'records',
  links: {
    contacts: {
      label: 'Contact',
      resource: contacts,
      show: ['id', 'name', 'email'],
      orderBy: 'name',
      singular: 'deal-contact',
      component: 'DealContact',
      idPrefix: 'dct',
      fields: {
        role: choice(['buyer', 'champion', 'lawyer'], { label: 'Role' }),
        isPrimary: flag({ label: 'Primary', nullable: false, initial: false, exclusive: true }),
      },
    },
  },
  fields: {
    id: id('dea'),
    name: text({ label: 'Name', required: true }),
    total: decimal({ label: 'Total' }),
    ...times,
  },
})

const dealContacts = linkResource(deals, 'contacts')

const owner = (parameter: string, resource: Resource, column: string): Parent => ({
  parameter,
  resource,
  column,
  isSmall: true,
})

const remarks = defineResource({
  name: 'remarks',
  singular: 'remark',
  component: 'Remark',
  idPrefix: 'rem',
  roleGroup: 'records',
  parents: [
    owner('contactId', contacts, 'contact_id'),
    owner('companyId', companies, 'company_id'),
    owner('dealId', deals, 'deal_id'),
  ],
  fields: {
    id: id('rem'),
    contactId: reference('con', { label: 'Contact', readOnly: true }),
    companyId: reference('com', { label: 'Company', readOnly: true }),
    dealId: reference('dea', { label: 'Deal', readOnly: true }),
    body: longText({ label: 'Text', required: true }),
    ...times,
  },
})

const remarksOf = (parameter: string, at: string, suffix: string) =>
  standardRoutes(standardStore(underParent(remarks, parameter)), { path: at, suffix })

/** Resources and routes that tests add to the product. */
export const relationships = {
  resources: [pipelines, stages, deals, dealContacts, remarks],
  routes: [
    ...standardRoutes(standardStore(pipelines), { path: '/v5/pipelines' }),
    ...standardRoutes(standardStore(stages), { path: '/v5/pipelines/{pipelineId}/stages' }),
    ...standardRoutes(standardStore(deals), { path: '/v5/deals' }),
    ...standardRoutes(standardStore(dealContacts), { path: '/v5/deals/{dealId}/contacts' }),
    ...remarksOf('contactId', '/v5/contacts/{contactId}/remarks', 'OfContact'),
    ...remarksOf('companyId', '/v5/companies/{companyId}/remarks', 'OfCompany'),
    ...remarksOf('dealId', '/v5/deals/{dealId}/remarks', 'OfDeal'),
    ...standardRoutes(standardStore(listedAcrossParents(remarks)), {
      path: '/v5/remarks',
      operations: ['list', 'count', 'get', 'update', 'delete', 'restore'],
    }),
  ],
}
