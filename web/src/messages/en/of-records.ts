import addresses from './addresses.json'
import deals from './deals.json'
import employments from './employments.json'
import erasing from './erasing.json'
import suggestions from './suggestions.json'
import timeline from './timeline.json'

export const messages = { addresses, deals, employments, erasing, suggestions, timeline }
