import { standardStore } from '../../platform/resource/routes.ts'
import { notes } from './resource.ts'

export const noteStore = standardStore(notes)
