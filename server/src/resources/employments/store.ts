import { standardStore } from '../../platform/resource/routes.ts'
import { employments } from './resource.ts'

export const employmentStore = standardStore(employments)
