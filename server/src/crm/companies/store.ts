import { standardStore } from '../../platform/records/write/store.ts'
import { storeEdits } from '../../platform/records/write/edits.ts'
import { syncExternalIds, touchesExternalIds } from '../../platform/records/write/external-ids.ts'
import { referable } from '../properties/store.ts'
import { companies } from './resource.ts'

export const companyStore = standardStore(companies, {
  referable,
  followWrite(transaction, pending) {
    syncExternalIds(transaction, companies, pending)
    // Imports also match companies by name and domain, so former values are stored as edits too.
    storeEdits(transaction, companies, pending, ['tags', 'externalIds', 'name', 'domain'])
  },
  singleStatement: {
    applies: (_, pending) => !touchesExternalIds(pending),
    storesEdits: true,
  },
})
