import access from './access.json'
import authors from './authors.json'
import board from './board.json'
import choices from './choices.json'
import common from './common.json'
import conflict from './conflict.json'
import filters from './filters.json'
import labels from './labels.json'
import list from './list.json'
import numbers from './numbers.json'
import operators from './operators.json'
import record from './record.json'
import sentences from './sentences.json'
import shell from './shell.json'
import tasks from './tasks.json'
import views from './views.json'
import type { messages as english } from '../en/index.ts'

export const messages: typeof english = {
  access,
  authors,
  board,
  choices,
  common,
  conflict,
  filters,
  labels: { ...sentences, ...labels },
  list,
  numbers,
  operators,
  record,
  shell,
  tasks,
  views,
}
