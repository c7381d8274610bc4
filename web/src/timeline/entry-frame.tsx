import { Link } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import { createElement, type ReactNode } from 'react'
import { resourceIcon } from '../registry/resources.ts'
import { Time } from '../ui/time.tsx'
import type { ItemFrame } from '../ui/virtual-list.tsx'
import type { Names } from '../api/names.ts'
import type { Entry, Owner } from '../api/timeline.ts'
import styles from './timeline.module.css'

/** The props of every kind of entry. */
export interface EntryProps {
  entry: Entry
  /** The record that owns the timeline. */
  owner: Owner
  names: Names
  /** The currency of a deal's amounts, in the deal's own timeline. */
  currency: string | undefined
  frame: ItemFrame
}

interface EntryFrameProps extends EntryProps {
  icon: LucideIcon
  /** Who did what. */
  sentence: ReactNode
  /** Buttons at the end of the entry. */
  actions?: ReactNode
  children?: ReactNode
}

/** A timeline entry: what happened, when, and, in a company's timeline, the contact or deal concerned. */
export function EntryFrame({ frame, icon: Icon, sentence, actions, children, ...props }: EntryFrameProps) {
  const { entry } = props
  return (
    <li {...frame} className={styles.entry}>
      <span className={styles.icon}>
        <Icon size={14} strokeWidth={1.75} aria-hidden />
      </span>
      <div className={styles.content}>
        <div className={styles.head}>
          <p className={styles.sentence}>
            {sentence} <Subject {...props} />
            <span className={styles.time}>
              <Time value={entry.createdAt} isFocusable />
            </span>
          </p>
          {actions !== undefined && <span className={styles.actions}>{actions}</span>}
        </div>
        {children}
      </div>
    </li>
  )
}

/** The record of an entry. */
export function subjectOf({ contactId, companyId, dealId }: Entry): Owner {
  if (contactId !== null) return { resource: 'contacts', id: contactId }
  if (dealId !== null) return { resource: 'deals', id: dealId }
  return { resource: 'companies', id: companyId ?? '' }
}

function Subject({ entry, owner, names }: Pick<EntryProps, 'entry' | 'owner' | 'names'>) {
  const { resource, id } = subjectOf(entry)
  if (id === owner.id) return undefined
  return (
    <Link to="/$resource/$recordId" params={{ resource, recordId: id }} className={styles.subject}>
      {createElement(resourceIcon(resource), { size: 13, strokeWidth: 1.75, 'aria-hidden': true })}
      <span className="truncate">{names[id] ?? id}</span>
    </Link>
  )
}
