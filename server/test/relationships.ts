import {
  defineResource,
  listedAcrossParents,
  type Parent,
  type Resource,
  underParent,
} from '../src/platform/records/declare/define.ts'
import {
  choice,
  decimal,
  flag,
  id,
  longText,
  reference,
  text,
  timestamp,
} from '../src/platform/records/declare/fields.ts'
import { linkResource } from '../src/platform/records/declare/links.ts'
import { standardRoutes } from '../src/platform/records/routes/standard-routes.ts'
import { standardStore } from '../src/platform/records/write/store.ts'
import { companies } from '../src/crm/companies/resource.ts'
import { contacts } from '../src/crm/contacts/resource.ts'

// Resources with each kind of relationship, for tests only: an offer with several contacts, and a remark on a contact, a
// company or an offer.

const times = {
  createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
  updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
} as const

export const offers = defineResource({
  name: 'offers',
  singular: 'offer',
  component: 'Offer',
  idPrefix: 'ofr',
  roleGroup: 'records',
  links: {
    contacts: {
      label: 'Contact',
      resource: contacts,
      show: ['id', 'name', 'email'],
      orderBy: 'name',
      singular: 'offer-contact',
      component: 'OfferContact',
      idPrefix: 'oct',
      fields: {
        role: choice(['buyer', 'champion', 'lawyer'], { label: 'Role' }),
        isPrimary: flag({ label: 'Primary', nullable: false, initial: false }),
      },
    },
  },
  fields: {
    id: id('ofr'),
    name: text({ label: 'Name', required: true }),
    total: decimal({ label: 'Total' }),
    ...times,
  },
})

const offerContacts = linkResource(offers, 'contacts')

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
    owner('offerId', offers, 'offer_id'),
  ],
  fields: {
    id: id('rem'),
    contactId: reference('con', { label: 'Contact', readOnly: true }),
    companyId: reference('com', { label: 'Company', readOnly: true }),
    offerId: reference('ofr', { label: 'Offer', readOnly: true }),
    body: longText({ label: 'Text', required: true }),
    ...times,
  },
})

const remarksOf = (parameter: string, at: string, suffix: string) =>
  standardRoutes(standardStore(underParent(remarks, parameter)), { path: at, suffix })

/** Resources and routes that tests add to the product. */
export const relationships = {
  resources: [offers, offerContacts, remarks],
  routes: [
    ...standardRoutes(standardStore(offers), { path: '/v5/offers' }),
    ...standardRoutes(standardStore(offerContacts), { path: '/v5/offers/{offerId}/contacts' }),
    ...remarksOf('contactId', '/v5/contacts/{contactId}/remarks', 'OfContact'),
    ...remarksOf('companyId', '/v5/companies/{companyId}/remarks', 'OfCompany'),
    ...remarksOf('offerId', '/v5/offers/{offerId}/remarks', 'OfOffer'),
    ...standardRoutes(standardStore(listedAcrossParents(remarks)), {
      path: '/v5/remarks',
      operations: ['list', 'count', 'get', 'update', 'delete', 'restore'],
    }),
  ],
}
