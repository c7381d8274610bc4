import { type KeyboardEvent, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { usePostOnce } from '../api/post-once.ts'
import { readDraft, storeDraft, useUnsaved } from '../preferences/drafts.ts'
import { useShortcuts } from '../ui/shortcuts.tsx'
import { Button } from '../ui/button.tsx'
import { Keys } from '../ui/keys.tsx'
import { notify } from '../ui/toast.tsx'
import { reportFailure } from '../views/changes.ts'
import { type Owner, readTimelinesAgain } from '../api/timeline.ts'
import { MentionInput } from './mention-input.tsx'
import styles from './timeline.module.css'

/** The form for a new note. A draft survives leaving and reloading the page. */
export function NoteForm({ owner: { resource, id } }: { owner: Owner }) {
  const t = useTranslations('timeline')
  const draft = `note on ${id}`
  const input = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState(() => readDraft(draft, 'browser') ?? '')
  const [isBusy, setBusy] = useState(false)
  const postOnce = usePostOnce()
  useUnsaved('note', text.trim() !== '')
  useShortcuts([{ keys: 'n', label: t('writeNote'), run: () => input.current?.focus() }])
  const write = (value: string) => {
    setText(value)
    storeDraft(draft, value === '' ? undefined : value, 'browser')
  }
  const post = async () => {
    if (isBusy || text.trim() === '') return
    setBusy(true)
    try {
      await postOnce(`/v5/${resource}/${id}/notes`, { body: text.trim() })
    } catch (error) {
      reportFailure(t('noteNotSaved'), error)
      return
    } finally {
      setBusy(false)
      input.current?.focus()
    }
    // Keep what was typed meanwhile.
    const current = input.current?.value ?? text
    write(current.startsWith(text) ? current.slice(text.length).trimStart() : current)
    notify(t('noteSaved'))
    await readTimelinesAgain()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void post()
  }
  return (
    <div className={styles.form}>
      <MentionInput
        ref={input}
        aria-label={t('newNote')}
        placeholder={t('notePlaceholder')}
        value={text}
        onText={write}
        onKeyDown={onKeyDown}
      />
      <div className={styles.buttons}>
        <span className={styles.hint}>{t('markdownHint')}</span>
        <Keys keys="Mod+Enter" />
        <Button kind="primary" isBusy={isBusy} disabled={text.trim() === ''} onClick={() => void post()}>
          {t('addNote')}
        </Button>
      </div>
    </div>
  )
}
