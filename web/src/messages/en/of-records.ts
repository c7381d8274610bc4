import deals from './deals.json'
import suggestions from './suggestions.json'

export const messages = { deals, suggestions }
