import { Link } from '@tanstack/react-router'
import { Archive, ArchiveRestore, Ban, CircleCheck, type LucideIcon, Pencil, Plus, Webhook } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { useAuthor } from '../views/author.ts'
import { EntryFrame, type EntryProps, subjectOf } from './entry-frame.tsx'
import type { Entry } from '../api/timeline.ts'
import { type ChangeText, useChangeText } from './value-text.ts'
import styles from './timeline.module.css'

export type Change = NonNullable<Entry['change']>

const icons: Readonly<Record<Change['action'], LucideIcon>> = {
  created: Plus,
  updated: Pencil,
  deleted: Archive,
  restored: ArchiveRestore,
  blocked: Ban,
  unblocked: CircleCheck,
}

/** How the parts of a sentence about a change are formatted. */
const marks = {
  name: (text: ReactNode) => <strong>{text}</strong>,
  old: (text: ReactNode) => <span className={styles.old}>{text}</span>,
  new: (text: ReactNode) => <span className={styles.new}>{text}</span>,
}

/** A change by a person, a program or an import: the record was created, changed or deleted. */
export function ChangeEntry(props: EntryProps & { change: Change }) {
  const { entry, change } = props
  const t = useTranslations('timeline')
  const author = useAuthor(props)
  const textOf = useChangeText()
  const { resource: name } = subjectOf(entry)
  const resource = useResource(name)
  const changes = change.changes.map((one) => textOf(resource, one, props))
  const [only] = changes
  const isOne = change.action === 'updated' && changes.length === 1 && only !== undefined
  return (
    <EntryFrame
      {...props}
      icon={entry.kind === 'import' ? Webhook : icons[change.action]}
      sentence={
        isOne ? (
          <OneChange author={author} change={only} />
        ) : changes.length > 1 ? (
          t('updatedFields', { author, count: changes.length })
        ) : (
          t(`actions.${change.action}`, { author, resource: name })
        )
      }
      actions={change.importId !== null && <ImportLink change={change} />}
    >
      {!isOne && changes.length > 0 && (
        <ul className={styles.changes}>
          {changes.map((one) => (
            <li key={one.field}>
              <ChangeLine change={one} />
            </li>
          ))}
        </ul>
      )}
    </EntryFrame>
  )
}

/** `Ada changed City from London to Paris` */
function OneChange({ author, change: { field, before, after } }: { author: string; change: ChangeText }) {
  const t = useTranslations('timeline')
  if (before === undefined) return t.rich('set', { author, field, after: after ?? '', ...marks })
  if (after === undefined) return t.rich('cleared', { author, field, before, ...marks })
  return t.rich('changed', { author, field, before, after, ...marks })
}

/** `City from London to Paris` */
function ChangeLine({ change: { field, before, after } }: { change: ChangeText }) {
  const t = useTranslations('timeline')
  if (before === undefined) return t.rich('setLine', { field, after: after ?? '', ...marks })
  if (after === undefined) return t.rich('clearedLine', { field, before, ...marks })
  return t.rich('changedLine', { field, before, after, ...marks })
}

/** A link to the pushed row, for people who may see imports. */
function ImportLink({ change: { importId, importRowId } }: { change: Change }) {
  const t = useTranslations('timeline')
  const mayRead = useResource('imports')?.permissions.get === true
  if (!mayRead || importId === null) return undefined
  return (
    <Link
      to="/imports/$importId"
      params={{ importId }}
      search={(importRowId === null ? {} : { row: importRowId }) as never}
      className={styles.link}
    >
      {t('showImport')}
    </Link>
  )
}
