import deals from './deals.json'
import suggestions from './suggestions.json'
import timeline from './timeline.json'

export const messages = { deals, suggestions, timeline }
