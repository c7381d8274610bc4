import type { messages as english } from '../en/of-settings.ts'
import home from './home.json'
import properties from './properties.json'
import settings from './settings.json'
import webhooks from './webhooks.json'

export const messages: typeof english = { home, properties, settings: { ...settings, webhooks } }
