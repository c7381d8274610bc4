import { lazy } from 'react'
import { LaterMessages } from '../messages/later-messages.tsx'
import { ListPage, type ListParts } from '../views/list-page.tsx'
import { ValueViewsContext } from '../views/value-views.ts'
import { boards } from './boards.ts'
import { valueViews } from './value-views.ts'

/** The dialogs for a new record of resources whose form does not follow from their description. */
const createDialogs: ListParts['createDialogs'] = {
  tasks: lazy(() => import('../tasks/task-dialog.tsx').then(({ NewTask }) => ({ default: NewTask }))),
}

/** The list of a resource with what the application adds to it. */
export const ResourceListPage = () => (
  <LaterMessages>
    <ValueViewsContext value={valueViews}>
      <ListPage boards={boards} createDialogs={createDialogs} />
    </ValueViewsContext>
  </LaterMessages>
)
