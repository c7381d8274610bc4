import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { type RecordData, useResource } from '../api/schema.ts'
import { offerUndo } from '../ui/undo.ts'
import { leaveItem } from '../ui/focus.ts'
import { readTimelinesAgain } from '../api/timeline.ts'
import { changeProperty, reportFailure } from '../views/changes.ts'
import { propertyOf } from '../views/columns.tsx'
import { reloadLists } from '../views/use-record-window.ts'
import { hideTask, readTasksAgain, type ShownTask, showTask, whilePending } from './task-data.ts'

interface TaskActions {
  mayChange: boolean
  mayDelete: boolean
  /** Finishes or reopens a task at once, with Undo. */
  toggle(task: ShownTask): void
  /** Deletes a task with Undo. `inside`: an element of its row. */
  remove(task: ShownTask, inside: Element | null): Promise<void>
}

/** The actions on a task, wherever it is shown. */
export function useTaskActions(): TaskActions {
  const t = useTranslations('tasks')
  const list = useTranslations('list')
  const tasks = useResource('tasks')
  const done = tasks && propertyOf(tasks, 'done')
  const toggle = (task: ShownTask) => {
    if (!tasks || !done) return
    const { title } = task
    const value = !task.done
    const texts = {
      saved: t(value ? 'finished' : 'reopened', { title }),
      merged: '',
      undone: t(value ? 'reopened' : 'finished', { title }),
      failed: t('notChanged', { title }),
      kept: '',
      changedMeanwhile: list('changedMeanwhile'),
    }
    const show = (record: RecordData) => showTask(record as unknown as ShownTask)
    void whilePending(task.id, value, () =>
      changeProperty(tasks, task as unknown as RecordData, { property: done, value }, show, texts),
    )
  }
  const remove = async ({ id, title }: ShownTask, inside: Element | null) => {
    leaveItem(inside)
    hideTask(id)
    const restore = async () => {
      try {
        await send('POST', `/v5/tasks/${id}/restore`)
      } catch (error) {
        reportFailure(t('notRestored', { title }), error)
      } finally {
        await tasksChanged()
      }
    }
    try {
      await send('DELETE', `/v5/tasks/${id}`)
      offerUndo(t('deleted', { title }), restore)
    } catch (error) {
      reportFailure(t('notDeleted', { title }), error)
    } finally {
      await tasksChanged()
    }
  }
  const { update: mayChange = false, delete: mayDelete = false } = tasks?.permissions ?? {}
  return { mayChange, mayDelete, toggle, remove }
}

/** Refetches everything that shows tasks, after tasks were created, deleted or restored. */
export async function tasksChanged(): Promise<void> {
  reloadLists('/v5/tasks')
  await Promise.all([readTasksAgain(), readTimelinesAgain()])
}
