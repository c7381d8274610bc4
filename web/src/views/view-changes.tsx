import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../access/act.ts'
import { editOf, sendEdit } from '../api/edit.ts'
import { type ResourceSchema, useResource } from '../api/schema.ts'
import { Button } from '../ui/button.tsx'
import { classes } from '../ui/classes.ts'
import { isChanged, type ListBase, type ListState } from './list-state.ts'
import { changesOf, putView, useMayChange, type View } from './saved-views.ts'
import styles from './views.module.css'

const NewView = lazy(() => import('./view-dialogs.tsx').then((module) => ({ default: module.NewView })))

interface ViewChangesProps {
  resource: ResourceSchema
  state: ListState
  view: View | undefined
  base: ListBase
  /** The content that the view would store. */
  content: ListBase
}

/** Says that the list differs from its view, and offers to save or discard the changes. */
export function ViewChanges({ resource, state, view, base, content }: ViewChangesProps) {
  const t = useTranslations('views')
  const navigate = useNavigate()
  const act = useAct()
  const mayChange = useMayChange()
  const mayCreate = useResource('views')?.permissions.create === true
  const [isNaming, setNaming] = useState(false)
  const isUnsaved = isChanged(state, base)
  const show = (id: string) => void navigate({ to: '.', search: { view: id } as never })
  const save = (saved: View) =>
    act(
      async () => {
        const values = changesOf(resource, saved, content)
        putView((await sendEdit<View>({ ...editOf('views', saved), values })).body)
        show(saved.id)
      },
      { refresh: ['views', resource.name], done: t('saved', { name: saved.name }) },
    )
  return (
    <div className={classes(isUnsaved && styles.changes)}>
      {view && (
        <span role="status" className={isUnsaved ? styles.unsaved : 'visually-hidden'}>
          {isUnsaved && t('unsaved')}
        </span>
      )}
      {isUnsaved && (
        <span className={styles.buttons}>
          {view && (
            <Button kind="quiet" onClick={() => show(view.id)}>
              {t('reset')}
            </Button>
          )}
          {view && mayChange(view) && (
            <Button kind="primary" onClick={() => void save(view)}>
              {t('save')}
            </Button>
          )}
          {mayCreate && (
            <Button kind={view ? 'default' : 'quiet'} onClick={() => setNaming(true)}>
              {t(view ? 'saveAsNew' : 'saveView')}
            </Button>
          )}
        </span>
      )}
      {isNaming && (
        <Suspense>
          <NewView resource={resource} content={content} onClose={() => setNaming(false)} />
        </Suspense>
      )}
    </div>
  )
}
