import { standardStore } from '../../platform/resource/routes.ts'
import { keepEdits } from '../../platform/resource/edits.ts'
import { keepExternalIds } from '../../platform/resource/external-ids.ts'
import { companies } from './resource.ts'

export const companyStore = standardStore(companies, {
  async settle(transaction, written, pending) {
    await keepExternalIds(transaction, companies, written, pending)
    await keepEdits(transaction, companies, pending)
  },
})
