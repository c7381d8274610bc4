import { standardStore } from '../../platform/resource/store.ts'
import { hasEdits, keepEdits } from '../../platform/resource/edits.ts'
import { keepExternalIds, touchesExternalIds } from '../../platform/resource/external-ids.ts'
import { companies } from './resource.ts'

export const companyStore = standardStore(companies, {
  async settle(transaction, written, pending) {
    await keepExternalIds(transaction, companies, written, pending)
    // Companies are matched by name and domain too: the former ones still tell which company is meant.
    await keepEdits(transaction, companies, pending, ['tags', 'externalIds', 'name', 'domain'])
  },
  atOnce: { suits: (transaction, pending) => !touchesExternalIds(pending) && !hasEdits(transaction.actor, pending) },
})
