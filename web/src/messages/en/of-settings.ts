import properties from './properties.json'
import settings from './settings.json'

export const messages = { properties, settings }
