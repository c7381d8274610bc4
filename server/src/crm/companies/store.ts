import { standardStore } from '../../platform/records/write/store.ts'
import { hasEdits, storeEdits } from '../../platform/records/write/edits.ts'
import { syncExternalIds, touchesExternalIds } from '../../platform/records/write/external-ids.ts'
import { referable } from '../properties/store.ts'
import { companies } from './resource.ts'

export const companyStore = standardStore(companies, {
  referable,
  async afterWrite(transaction, written, pending) {
    await syncExternalIds(transaction, companies, written, pending)
    // Imports also match companies by name and domain, so former values are stored as edits too.
    await storeEdits(transaction, companies, pending, ['tags', 'externalIds', 'name', 'domain'])
  },
  singleStatement: {
    applies: (transaction, pending) => !touchesExternalIds(pending) && !hasEdits(transaction.actor, pending),
  },
})
