import type { BodyError } from '../../platform/model/errors.ts'
import { defineResource, type Prepared } from '../../platform/records/declare/define.ts'
import { flag, id, month, reference, text, timestamp } from '../../platform/records/declare/fields.ts'
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
  prepare,
  fields: {
    id: id('emp'),
    contactId: reference('con', { label: 'Contact', readOnly: true, nullable: false }),
    organization: text({ label: 'Organization', required: true }),
    title: text({ label: 'Job title', max: 500 }),
    current: flag({ label: 'Current job', nullable: false, initial: false }),
    start: month({ label: 'Start' }),
    end: month({ label: 'End' }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
