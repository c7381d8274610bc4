import { standardStore } from '../../platform/resource/store.ts'
import { hasEdits, storeEdits } from '../../platform/resource/edits.ts'
import { syncExternalIds, touchesExternalIds } from '../../platform/resource/external-ids.ts'
import { companies } from './resource.ts'

export const companyStore = standardStore(companies, {
  async afterWrite(transaction, written, pending) {
    await syncExternalIds(transaction, companies, written, pending)
    // Companies are matched by name and domain too: the former ones still tell which company is meant.
    await storeEdits(transaction, companies, pending, ['tags', 'externalIds', 'name', 'domain'])
  },
  singleStatement: {
    applies: (transaction, pending) => !touchesExternalIds(pending) && !hasEdits(transaction.actor, pending),
  },
})
