import common from './common.json'
import labels from './labels.json'
import shell from './shell.json'

import type { Messages } from '../messages.ts'

export const messages: Messages = { common, labels, shell }
