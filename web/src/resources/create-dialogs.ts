import { type ComponentType, lazy } from 'react'

interface OwnCreateDialogProps {
  /** What was searched for. */
  text: string
  onClose(): void
}

/** The dialogs for a new record of resources whose form does not follow from their description. */
export const createDialogs: Readonly<Record<string, ComponentType<OwnCreateDialogProps>>> = {
  tasks: lazy(() => import('../tasks/task-dialog.tsx').then(({ NewTask }) => ({ default: NewTask }))),
}
