import properties from './properties.json'
import push from './push.json'
import settings from './settings.json'
import webhooks from './webhooks.json'

export const messages = { properties, settings: { ...settings, webhooks } }
export const messages = { properties, push, settings }
