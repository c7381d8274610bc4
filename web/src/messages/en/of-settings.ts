import properties from './properties.json'
import settings from './settings.json'
import webhooks from './webhooks.json'

export const messages = { properties, settings: { ...settings, webhooks } }
