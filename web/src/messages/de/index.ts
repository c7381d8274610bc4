import access from './access.json'
import choices from './choices.json'
import common from './common.json'
import labels from './labels.json'
import list from './list.json'
import operators from './operators.json'
import profile from './profile.json'
import record from './record.json'
import settings from './settings.json'
import shell from './shell.json'
import type { Messages } from '../messages.ts'

export const messages: Messages = { access, choices, common, labels, list, operators, profile, record, settings, shell }
