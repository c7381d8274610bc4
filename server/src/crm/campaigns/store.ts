import { standardStore } from '../../platform/records/write/store.ts'
import { campaigns } from './resource.ts'

export const campaignStore = standardStore(campaigns)
