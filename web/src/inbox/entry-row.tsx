import { Link } from '@tanstack/react-router'
import {
  AlarmClock,
  AtSign,
  CalendarX2,
  Check,
  CircleAlert,
  CircleDot,
  Lightbulb,
  type LucideIcon,
  UserRoundCheck,
  Webhook,
} from 'lucide-react'
import type { MouseEvent, ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { useMe } from '../api/me.ts'
import type { Names } from '../api/names.ts'
import { IconButton } from '../ui/button.tsx'
import { Time } from '../ui/time.tsx'
import { useNotifyFailure } from '../ui/toast.tsx'
import { titleText } from './entry-text.ts'
import { type EntryKind, type InboxEntry, type InboxPage, markEntry } from './inbox-data.ts'
import styles from './inbox.module.css'

const icons: Readonly<Record<EntryKind, LucideIcon>> = {
  assigned: UserRoundCheck,
  mentioned: AtSign,
  suggestion: Lightbulb,
  importFailed: CircleAlert,
  webhookDisabled: Webhook,
  reminder: AlarmClock,
  taskDue: CalendarX2,
}

interface EntryProps {
  entry: InboxEntry
  names: Names
  /** The record of a note or a suggestion. */
  place: InboxPage['places'][string] | undefined
}

/** An entry: a sentence with a link to the record. Opening the record marks it as read. */
export function EntryRow(props: EntryProps) {
  const { entry } = props
  const t = useTranslations('inbox')
  const notifyFailure = useNotifyFailure()
  const mark = (read: boolean) => void markEntry(entry, read).catch(notifyFailure)
  const Icon = icons[entry.kind]
  return (
    <li data-entry className={styles.entry} data-unread={!entry.read || undefined}>
      <span className={styles.icon}>
        <Icon size={15} strokeWidth={1.75} aria-hidden />
      </span>
      <p className={styles.sentence}>
        {!entry.read && <span className="visually-hidden">{t('isUnread')} </span>}
        <Sentence {...props} onOpen={() => mark(true)} />
        <span className={styles.time}>
          <Time value={entry.createdAt} />
        </span>
      </p>
      <IconButton
        icon={entry.read ? CircleDot : Check}
        label={t(entry.read ? 'markUnread' : 'markRead')}
        onClick={() => mark(!entry.read)}
      />
    </li>
  )
}

function Sentence({ entry, names, place, onOpen }: EntryProps & { onOpen(): void }) {
  const t = useTranslations('inbox')
  const authors = useTranslations('authors')
  const { kind, resource, title, authorId } = entry
  const facts = {
    by: authorId === null ? 'nobody' : 'somebody',
    author: names[authorId ?? ''] ?? authors('formerMember'),
    resource,
  }
  if (entry.recordCount > 1)
    return t.rich('group', {
      ...facts,
      count: entry.recordCount,
      records: (text) => (
        <OwnList resource={resource} onOpen={onOpen}>
          {text}
        </OwnList>
      ),
    })
  if (title === null) return t(`gone.${kind}`, facts)
  return t.rich(`kinds.${kind}`, {
    ...facts,
    title: titleText(title),
    record: (text) => (
      <RecordLink entry={entry} place={place} onOpen={onOpen}>
        {text}
      </RecordLink>
    ),
  })
}

interface RecordLinkProps extends Pick<EntryProps, 'entry' | 'place'> {
  onOpen(): void
  children: ReactNode
}

/** The middle button opens a tab. */
const linkProps = (onOpen: () => void) => ({
  className: styles.link,
  onClick: onOpen,
  onAuxClick: ({ button }: MouseEvent) => button === 1 && onOpen(),
})

/** Leads to the records of this resource that are the person's. */
function OwnList({ resource, onOpen, children }: { resource: string; onOpen(): void; children: ReactNode }) {
  const { id } = useMe()
  const field = resource === 'tasks' ? 'assigneeId' : 'ownerId'
  const search = { [`filter.${field}.equals`]: id, view: 'table' }
  return (
    <Link to="/$resource" params={{ resource }} search={search as never} {...linkProps(onOpen)}>
      <span>{children}</span>
    </Link>
  )
}

function RecordLink({ entry: { resource, recordId }, place, onOpen, children }: RecordLinkProps) {
  const props = linkProps(onOpen)
  const shown = <span>{children}</span>
  if (resource === 'imports')
    return (
      <Link to="/imports/$importId" params={{ importId: recordId }} {...props}>
        {shown}
      </Link>
    )
  if (resource === 'webhooks')
    return (
      <Link to="/settings/$section" params={{ section: 'webhooks' }} search={{ webhook: recordId } as never} {...props}>
        {shown}
      </Link>
    )
  const isInRecord = resource === 'notes' || resource === 'suggestions'
  const target = isInRecord ? place : { resource: resource as string, id: recordId }
  if (!target) return <strong>{children}</strong>
  return (
    <Link to="/$resource/$recordId" params={{ resource: target.resource, recordId: target.id }} {...props}>
      {shown}
    </Link>
  )
}
