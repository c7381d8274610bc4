import { standardStore } from '../../platform/resource/routes.ts'
import { campaigns } from './resource.ts'

export const campaignStore = standardStore(campaigns)
