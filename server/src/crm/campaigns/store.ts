import { standardStore } from '../../platform/resource/store.ts'
import { campaigns } from './resource.ts'

export const campaignStore = standardStore(campaigns)
