import { storeEditedValues } from '../../platform/records/write/edits.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { withoutParent } from '../../platform/records/declare/define.ts'
import { standardStore } from '../../platform/records/write/store.ts'
import { contacts } from '../contacts/resource.ts'
import { allEmployments, employments, jobKey } from './resource.ts'
import type { PendingChange, WriteSteps } from '../../platform/records/declare/changes.ts'

const steps: WriteSteps = {
  followWrite: (transaction, pending) => storeEditedValues(transaction, contacts, pending.flatMap(editedJobs)),
}

/** The employments of one contact. */
export const employmentStore = standardStore(employments, steps)

/** The employments of all contacts that are not deleted. */
export const listedEmploymentStore = standardStore(allEmployments, steps)

/** The employments of all contacts. A new one names its contact in the column `contact_id`. */
export const allEmploymentStore = standardStore(withoutParent(employments), steps)

/** Records a job that a person changed or deleted: imports never change it or add the previous version again. */
function editedJobs({ before, values, columns }: PendingChange) {
  if (!before || !(Object.keys(values).length > 0 || typeof columns.deleted_at === 'string')) return []
  const keys = new Set([jobKey(before), jobKey({ ...before, ...values })])
  const id = decodeId(contacts.idPrefix, String(before.contactId)) ?? ''
  return [...keys].map((value) => ({ id, field: 'employments', value }))
}
