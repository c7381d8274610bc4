import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { change, useAct } from '../access/act.ts'
import { send } from '../api/client.ts'
import { editOf, sendEdit, whenStored } from '../api/edit.ts'
import { usePostOnce } from '../api/post-once.ts'
import { ignoreAnswers, queryClient } from '../api/query-client.ts'
import type { ResourceSchema } from '../api/schema.ts'
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx'
import { useSeen } from '../api/use-seen.ts'
import { CheckField, TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { SortableList } from '../ui/sortable-list.tsx'
import type { ListBase } from './list-state.ts'
import { contentOf, positionAt, putView, useMayChange, type View, viewsPath, viewsQuery } from './saved-views.ts'

const maxNameLength = 200

interface NewViewProps {
  resource: ResourceSchema
  content: ListBase
  onClose(): void
}

/** Saves the current list as a view. */
export function NewView({ resource, content, onClose }: NewViewProps) {
  const t = useTranslations('views')
  const common = useTranslations('common')
  const navigate = useNavigate()
  const post = usePostOnce()
  const [isShared, setShared] = useState(false)
  return (
    <Dialog title={t('newTitle')} isOpen onClose={onClose}>
      <Form
        draft="new view"
        submitLabel={common('save')}
        onCancel={onClose}
        onSubmit={async ({ name = '' }) => {
          await change(['views', resource.name], async () => {
            const body = { name, resource: resource.name, isShared, ...contentOf(resource, content) }
            const { body: view } = await post<View>(viewsPath, body)
            putView(view)
            await navigate({ to: '.', search: { view: view.id } as never })
          })
          onClose()
        }}
      >
        {(errorOf) => (
          <>
            <TextField
              label={t('name')}
              name="name"
              error={errorOf('name')}
              maxLength={maxNameLength}
              autoComplete="off"
            />
            <CheckField
              label={t('share')}
              hint={t('shareHint')}
              checked={isShared}
              onChange={(event) => setShared(event.target.checked)}
            />
          </>
        )}
      </Form>
    </Dialog>
  )
}

interface ViewProps {
  view: View
  onClose(): void
}

export function RenameView({ view, onClose }: ViewProps) {
  const t = useTranslations('views')
  const common = useTranslations('common')
  const seen = useSeen(view)
  return (
    <Dialog title={t('renameTitle', { name: view.name })} isOpen onClose={onClose}>
      <Form
        draft={`view ${view.id}`}
        submitLabel={common('save')}
        onCancel={onClose}
        onSubmit={async ({ name = '' }) => {
          await change(['views', view.resource], async () =>
            putView((await sendEdit<View>({ ...editOf('views', seen), values: { name } })).body),
          )
          onClose()
        }}
      >
        {(errorOf) => (
          <TextField
            label={t('name')}
            name="name"
            defaultValue={view.name}
            error={errorOf('name')}
            maxLength={maxNameLength}
            autoComplete="off"
          />
        )}
      </Form>
    </Dialog>
  )
}

export function DeleteView({ view, onClose }: ViewProps) {
  const t = useTranslations('views')
  const common = useTranslations('common')
  const navigate = useNavigate()
  const act = useAct()
  const path = `${viewsPath}/${view.id}`
  const options = { refresh: ['views', view.resource] }
  const restore = () =>
    void act(() => send('POST', `${path}/restore`), { ...options, done: t('restored', { name: view.name }) })
  const remove = () =>
    act(
      async () => {
        await send('DELETE', path)
        // Only after the view is left, because its list would be missing.
        await navigate({ to: '/$resource', params: { resource: view.resource }, search: {} })
      },
      { ...options, done: t('deleted', { name: view.name }), undo: restore },
    )
  return (
    <ConfirmDialog
      title={t('deleteTitle', { name: view.name })}
      description={t(view.isShared ? 'deleteSharedText' : 'deleteText')}
      action={common('delete')}
      isOpen
      onClose={onClose}
      onConfirm={remove}
    />
  )
}

interface OrderViewsProps {
  resource: ResourceSchema
  views: readonly View[]
  onClose(): void
}

export function OrderViews({ resource, views, onClose }: OrderViewsProps) {
  const t = useTranslations('views')
  const act = useAct()
  const mayChange = useMayChange()
  const move = async (id: string, index: number) => {
    const others = views.filter((view) => view.id !== id)
    const position = positionAt(others, index)
    const moved = views.filter((view) => view.id === id).map((view) => ({ ...view, position }))
    // Show the new order at once; the service's response replaces it.
    const { queryKey } = viewsQuery(resource.name)
    ignoreAnswers(queryKey)
    queryClient.setQueryData(queryKey, others.toSpliced(index, 0, ...moved))
    const seen = views.find((view) => view.id === id)
    const store = async () => seen && sendEdit({ ...editOf('views', seen), values: { position }, isMove: true })
    await act(() => store().finally(whenStored), { refresh: ['views', resource.name] })
  }
  return (
    <Dialog title={t('orderTitle')} description={t('orderText')} isOpen onClose={onClose}>
      <SortableList
        label={t('title')}
        items={views}
        titleOf={({ name }) => name}
        onMove={(id, index) => void move(id, index)}
        canMove={mayChange}
      >
        {({ name, isShared }) => (
          <>
            <span className="truncate">{name}</span>
            <small>{t(isShared ? 'shared' : 'personal')}</small>
          </>
        )}
      </SortableList>
    </Dialog>
  )
}
