import { standardStore } from '../../platform/resource/routes.ts'
import { keepExternalIds } from '../../platform/resource/external-ids.ts'
import { companies } from './resource.ts'

export const companyStore = standardStore(companies, {
  settle: (transaction, written, pending) => keepExternalIds(transaction, companies, written, pending),
})
