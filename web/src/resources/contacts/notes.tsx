import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { Trash2 } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Schemas, send } from '../../api/client.ts'
import { useMe } from '../../api/me.ts'
import { usePostOnce } from '../../api/post-once.ts'
import { queryClient } from '../../api/query-client.ts'
import { type RecordData, useResource } from '../../api/schema.ts'
import { readPreference, storePreference } from '../../preferences/storage.ts'
import { useShortcuts } from '../../shell/shortcuts.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { Failure } from '../../ui/empty-state.tsx'
import { Keys } from '../../ui/keys.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toast.tsx'
import { offerUndo, reportFailure } from '../../views/changes.ts'
import styles from '../sections.module.css'

type Note = Schemas['Note']

const pageSize = 20

const notesQuery = (contactId: string) =>
  infiniteQueryOptions({
    queryKey: ['notes', contactId],
    queryFn: async ({ pageParam, signal }) => {
      const query = new URLSearchParams({ limit: String(pageSize), ...(pageParam && { startingAfter: pageParam }) })
      return (await send<Note[]>('GET', `/v5/contacts/${contactId}/notes`, { query, signal })).body
    },
    initialPageParam: '',
    getNextPageParam: (last) => (last.length === pageSize ? last.at(-1)?.id : undefined),
  })

export const loadNotes = (contactId: string): Promise<void> => queryClient.prefetchInfiniteQuery(notesQuery(contactId))

/** Notes about a contact, newest first. A draft survives leaving and reloading the page. */
export function Notes({ record }: { record: RecordData }) {
  const t = useTranslations('record')
  const notes = useResource('notes')
  const path = `/v5/contacts/${record.id}/notes`
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    notesQuery(record.id),
  )
  const changed = () => queryClient.invalidateQueries({ queryKey: ['notes', record.id] })
  const remove = async ({ id }: Note) => {
    try {
      await send('DELETE', `${path}/${id}`)
      await changed()
      offerUndo(t('noteDeleted'), () => void send('POST', `${path}/${id}/restore`).then(changed))
    } catch (reason) {
      reportFailure(t('deleteNote'), reason)
    }
  }
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  const shown = data?.pages.flat() ?? []
  return (
    <>
      {notes?.permissions.create && <NoteForm id={record.id} path={path} onPosted={changed} />}
      {data && shown.length === 0 && <p className={styles.soft}>{t('noNotes')}</p>}
      <ul>
        {shown.map((note) => (
          <li key={note.id} className={styles.note}>
            <p className={styles.body}>{note.body}</p>
            {notes?.permissions.delete && (
              <IconButton icon={Trash2} label={t('deleteNote')} onClick={() => void remove(note)} />
            )}
            <p className={styles.faint}>
              <Time value={note.createdAt} isFocusable />
            </p>
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button kind="quiet" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t('older')}
        </Button>
      )}
    </>
  )
}

function NoteForm({ id, path, onPosted }: { id: string; path: string; onPosted(): Promise<void> }) {
  const t = useTranslations('record')
  // Another person may use this browser next.
  const draft = `draft.${useMe().id}.${id}`
  const input = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(() => readPreference(draft) ?? '')
  const [isBusy, setBusy] = useState(false)
  const postOnce = usePostOnce()
  useShortcuts([{ keys: 'n', label: t('focusNote'), run: () => input.current?.focus() }])
  const write = (value: string) => {
    setText(value)
    storePreference(draft, value === '' ? undefined : value)
  }
  const post = async () => {
    if (isBusy || text.trim() === '') return
    setBusy(true)
    try {
      await postOnce(path, { body: text.trim() })
      write('')
      await onPosted()
      notify(t('noteSaved'))
    } catch (error) {
      reportFailure(t('postNote'), error)
    } finally {
      setBusy(false)
      input.current?.focus()
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void post()
  }
  return (
    <div className={styles.form}>
      <textarea
        ref={input}
        className={styles.input}
        aria-label={t('noteLabel')}
        placeholder={t('newNote')}
        value={text}
        onChange={(event) => write(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className={styles.actions}>
        <Keys keys="Mod+Enter" />
        <Button kind="primary" isBusy={isBusy} disabled={text.trim() === ''} onClick={() => void post()}>
          {t('postNote')}
        </Button>
      </div>
    </div>
  )
}
