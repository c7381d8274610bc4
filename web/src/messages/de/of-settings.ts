import type { SettingsMessages } from '../messages.ts'
import properties from './properties.json'
import settings from './settings.json'

export const messages: SettingsMessages = { properties, settings }
