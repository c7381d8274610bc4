import home from './home.json'
import properties from './properties.json'
import settings from './settings.json'
import webhooks from './webhooks.json'

export const messages = { home, properties, settings: { ...settings, webhooks } }
