import type { BodyError } from '../../platform/model/errors.ts'
import { defineResource, listedAcrossParents, type Prepared } from '../../platform/records/declare/define.ts'
import { flag, id, month, reference, text, timestamp } from '../../platform/records/declare/fields.ts'
import { companies } from '../companies/resource.ts'
import { contacts } from '../contacts/resource.ts'
import type { JsonObject } from '../../platform/model/json.ts'

/** A current job has no end, and no job ends before it starts. */
function prepare(values: JsonObject, current: JsonObject | undefined): Prepared {
  const after = { ...current, ...values }
  const errors: BodyError[] = []
  if (after.current === true && typeof after.end === 'string') {
    errors.push({ field: 'end', message: 'must be empty for a current job' })
  }
  if (typeof after.start === 'string' && typeof after.end === 'string' && after.end < after.start) {
    errors.push({ field: 'end', message: 'must not be earlier than start' })
  }
  return { values, errors }
}

/** Two jobs of a contact are the same if employer, title and start are equal, ignoring case. */
export const jobKey = ({ organization, title, start }: JsonObject): string =>
  [organization, title, start].map((part) => String(part ?? '').toLowerCase()).join('\n')

/** One job in a contact's history. */
export const employments = defineResource({
  name: 'employments',
  singular: 'employment',
  component: 'Employment',
  idPrefix: 'emp',
  heading: 'A contact’s employment history.',
  roleGroup: 'records',
  isErasable: true,
  titleField: 'organization',
  parent: { parameter: 'contactId', resource: contacts, column: 'contact_id', isSmall: true },
  connects: [
    { resource: contacts, column: 'contact_id', name: 'employees' },
    { resource: companies, column: 'company_id', name: 'employers' },
  ],
  prepare,
  embedded: {
    company: {
      label: 'Company',
      through: 'companyId',
      resource: companies,
      show: ['id', 'name', 'domain'],
      orderBy: 'name',
    },
  },
  fields: {
    id: id('emp'),
    contactId: reference('con', { label: 'Contact', readOnly: true, nullable: false }),
    organization: text({ label: 'Organization', description: 'The employer as the contact calls it', required: true }),
    companyId: reference('com', {
      label: 'Company',
      description: 'The employer, if it is a company of yours. Its name may differ from `organization`',
      table: 'companies',
      // A process of the release before, which does not know the column, may purge the company meanwhile.
      hasNoForeignKey: true,
      equality: 'indexed',
    }),
    title: text({ label: 'Job title', max: 500 }),
    current: flag({ label: 'Current job', nullable: false, initial: false }),
    start: month({ label: 'Start' }),
    end: month({ label: 'End' }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** The employments of all contacts that are not deleted. */
export const allEmployments = listedAcrossParents(employments)
