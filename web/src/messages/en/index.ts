import common from './common.json'
import labels from './labels.json'
import shell from './shell.json'

export const messages = { common, labels, shell }
