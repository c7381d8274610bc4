import type { messages as english } from '../en/of-settings.ts'
import properties from './properties.json'
import push from './push.json'
import settings from './settings.json'
import webhooks from './webhooks.json'

export const messages: typeof english = { properties, settings: { ...settings, webhooks } }
export const messages: typeof english = { properties, push, settings }
