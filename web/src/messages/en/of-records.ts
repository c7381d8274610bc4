import deals from './deals.json'
import erasing from './erasing.json'
import suggestions from './suggestions.json'
import timeline from './timeline.json'

export const messages = { deals, erasing, suggestions, timeline }
