import { lazy } from 'react'
import { LaterMessages } from '../messages/later-messages.tsx'
import { ListPage, type ListParts } from '../views/list-page.tsx'
import { boards } from './boards.ts'

/** The dialogs for a new record of resources whose form does not follow from their description. */
const createDialogs: ListParts['createDialogs'] = {
  tasks: lazy(() => import('../tasks/task-dialog.tsx').then(({ NewTask }) => ({ default: NewTask }))),
}

/** The list of a resource with what the application adds to it. */
export const ResourceListPage = () => (
  <LaterMessages>
    <ListPage boards={boards} createDialogs={createDialogs} />
  </LaterMessages>
)
