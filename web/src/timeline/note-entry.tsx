import { Pencil, StickyNote, Trash2 } from 'lucide-react'
import { type KeyboardEvent, type MouseEvent, useMemo, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { type RecordData, type ResourceSchema, useResource } from '../api/schema.ts'
import { readDraft, useDraft, useUnsaved } from '../preferences/drafts.ts'
import { useSeen } from '../api/use-seen.ts'
import { offerUndo } from '../ui/undo.ts'
import { NoteSuggestions } from '../suggestions/note-suggestions.tsx'
import { isOpen, type Suggestion } from '../suggestions/suggestion-data.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { leaveItem } from '../ui/focus.ts'
import { Keys } from '../ui/keys.tsx'
import { Markdown } from '../ui/markdown.tsx'
import type { MarkedWords } from '../ui/markdown-marks.ts'
import { changeProperty, reportFailure, valueToEdit, forgetUnsaved } from '../views/changes.ts'
import { propertyOf } from '../views/columns.tsx'
import { useChangedMeanwhile } from '../views/use-changed-meanwhile.ts'
import { useAuthor } from '../views/author.ts'
import { EntryFrame, type EntryProps } from './entry-frame.tsx'
import { MentionInput } from './mention-input.tsx'
import { type Entry, readTimelinesAgain, replaceEntries } from '../api/timeline.ts'
import styles from './timeline.module.css'

export type Note = NonNullable<Entry['note']>

interface NoteEntryProps extends EntryProps {
  note: Note
  suggestions: readonly Suggestion[]
  /** The intent of a new note that suggests nothing. */
  intent: Suggestion['intent'] | undefined
}

/** A note in a timeline with its suggestions. It is edited in place, and deleted with Undo. */
export function NoteEntry(props: NoteEntryProps) {
  const { note, entry, names, suggestions, intent } = props
  const t = useTranslations('timeline')
  const author = useAuthor(props)
  const notes = useResource('notes')
  const [isEditing, setEditing] = useState(() => readDraft(draftOf(note)) !== undefined)
  const editButton = useRef<HTMLButtonElement>(null)
  const remove = useDeleteNote()
  const close = () => {
    setEditing(false)
    // The button reappears with the next frame.
    requestAnimationFrame(() => editButton.current?.focus())
  }
  const marked = useMemo(
    () => suggestions.filter(isOpen).map(({ evidence: { start, text } }): MarkedWords => ({ start, text })),
    [suggestions],
  )
  const isQuiet = isEditing || notes === undefined
  return (
    <EntryFrame
      {...props}
      icon={StickyNote}
      sentence={t('wroteNote', { author })}
      actions={
        !isQuiet && (
          <>
            {notes.permissions.update && (
              <IconButton ref={editButton} icon={Pencil} label={t('editNote')} onClick={() => setEditing(true)} />
            )}
            {notes.permissions.delete && (
              <IconButton
                icon={Trash2}
                label={t('deleteNote')}
                onClick={(event: MouseEvent) => void remove(note.id, event.currentTarget)}
              />
            )}
          </>
        )
      }
    >
      {isEditing && notes ? (
        <NoteEditor notes={notes} note={note} onClose={close} />
      ) : (
        <div className={styles.note}>
          <LongNote text={note.body} marked={marked} />
        </div>
      )}
      <NoteSuggestions
        note={{ id: note.id, createdAt: entry.createdAt }}
        suggestions={suggestions}
        names={names}
        intent={intent}
      />
    </EntryFrame>
  )
}

/** The key under which the edited text of a note is stored. */
const draftOf = ({ id }: Note): string => `note ${id}`

/** Longer notes are collapsed at first: an imported one can fill many screens. */
const longText = { characters: 1500, lines: 20 }

function LongNote({ text, marked }: { text: string; marked: readonly MarkedWords[] }) {
  const t = useTranslations('timeline')
  const isLong = text.length > longText.characters || text.split('\n').length > longText.lines
  const [isUnfolded, setUnfolded] = useState(false)
  if (!isLong) return <Markdown text={text} marked={marked} />
  return (
    <>
      <div className={isUnfolded ? undefined : styles.folded}>
        <Markdown text={isUnfolded ? text : text.slice(0, 2 * longText.characters)} marked={marked} />
      </div>
      <div>
        <Button kind="quiet" aria-expanded={isUnfolded} onClick={() => setUnfolded(!isUnfolded)}>
          {t(isUnfolded ? 'fold' : 'unfold')}
        </Button>
      </div>
    </>
  )
}

/** Shows the new text of a note in all timelines before it is stored. */
const showNote = ({ id, body }: RecordData): void =>
  replaceEntries((entry) => (entry.note?.id === id ? { ...entry, note: { ...entry.note, body: String(body) } } : entry))

function NoteEditor({ notes, note, onClose }: { notes: ResourceSchema; note: Note; onClose(): void }) {
  const t = useTranslations('timeline')
  const list = useTranslations('list')
  const common = useTranslations('common')
  const property = propertyOf(notes, 'body')
  // The timeline may be refetched meanwhile.
  const record: RecordData = useSeen({ id: note.id, body: note.body })
  const draft = draftOf(note)
  const [text, setText] = useDraft(draft, () => (property ? String(valueToEdit(property, record)) : note.body))
  useUnsaved('edit', text !== record.body)
  useChangedMeanwhile(t('noteText'), record.body, note.body)
  if (!property) return undefined
  const close = () => {
    forgetUnsaved(property, record)
    onClose()
  }
  const save = () => {
    const value = text.trim()
    if (value === '') return
    close()
    if (value === record.body) return
    const texts = {
      saved: t('noteChanged'),
      merged: t('noteChanged'),
      undone: t('noteChangedBack'),
      failed: t('noteNotChanged'),
      kept: list('kept'),
      changedMeanwhile: list('changedMeanwhile'),
    }
    void changeProperty(notes, record, { property, value }, showNote, texts)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') close()
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) save()
    else return
    event.preventDefault()
  }
  return (
    <div className={styles.form}>
      <MentionInput
        autoFocus
        aria-label={t('noteText')}
        value={text}
        onText={setText}
        onFocus={({ target }) => target.setSelectionRange(target.value.length, target.value.length)}
        onKeyDown={onKeyDown}
      />
      <div className={styles.buttons}>
        <Keys keys="Mod+Enter" />
        <Button onClick={close}>{common('cancel')}</Button>
        <Button kind="primary" disabled={text.trim() === ''} onClick={save}>
          {common('save')}
        </Button>
      </div>
    </div>
  )
}

/** Deletes a note on the screen at once; it returns if the service refuses, or with Undo. */
function useDeleteNote() {
  const t = useTranslations('timeline')
  return async (id: string, button: Element) => {
    leaveItem(button)
    replaceEntries((entry) => (entry.note?.id === id ? undefined : entry))
    try {
      await send('DELETE', `/v5/notes/${id}`)
      const restore = () => send('POST', `/v5/notes/${id}/restore`).then(readTimelinesAgain)
      offerUndo(t('noteDeleted'), () => restore().catch((error: unknown) => reportFailure(t('noteNotRestored'), error)))
    } catch (error) {
      reportFailure(t('noteNotDeleted'), error)
    } finally {
      await readTimelinesAgain()
    }
  }
}
