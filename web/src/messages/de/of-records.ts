import type { messages as english } from '../en/of-records.ts'
import addresses from './addresses.json'
import deals from './deals.json'
import employments from './employments.json'
import erasing from './erasing.json'
import suggestions from './suggestions.json'
import timeline from './timeline.json'

export const messages: typeof english = { addresses, deals, employments, erasing, suggestions, timeline }
