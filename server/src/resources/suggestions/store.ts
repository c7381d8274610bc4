import { standardStore } from '../../platform/resource/store.ts'
import { noteAnalyses, suggestions } from './resource.ts'

export const suggestionStore = standardStore(suggestions)

export const noteAnalysisStore = standardStore(noteAnalyses)
