import type { ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { type Person, usePeople } from '../live/people.ts'
import { classes } from '../ui/classes.ts'
import { Avatar } from '../ui/tag.tsx'
import { useReferenceTitle } from './reference-title.tsx'
import styles from './people-here.module.css'

/** Where there is space for more, a number says how many there are. */
const maxShown = 3

interface PeopleHereProps {
  recordId: string
  /** Over the end of the surrounding element, so that nothing moves when somebody comes. */
  isOver?: boolean
}

/** Who else has the record open, and whether they edit it. */
export function PeopleHere({ recordId, isOver }: PeopleHereProps) {
  const t = useTranslations('common')
  const people = usePeople(recordId)
  if (people.length === 0) return undefined
  const count = people.length - maxShown
  return (
    <span className={classes(styles.people, isOver && styles.over)}>
      {people.slice(0, maxShown).map((person) => (
        <Initials key={person.userId} {...person} />
      ))}
      {count > 0 && (
        <span className={styles.more} role="img" aria-label={t('moreHere', { count })} title={t('moreHere', { count })}>
          +{count}
        </span>
      )}
    </span>
  )
}

/** The name of a record in a list, with the people over its end. */
export const WithPeople = ({ recordId, children }: { recordId: string; children: ReactNode }) => (
  <span className={styles.box}>
    {children}
    <PeopleHere recordId={recordId} isOver />
  </span>
)

function Initials({ userId, isEditing }: Person) {
  const t = useTranslations('common')
  const name = useReferenceTitle('members', userId)
  if (name === undefined) return undefined
  const label = t(isEditing ? 'isEditing' : 'isHere', { name })
  return (
    <span className={classes(styles.person, isEditing && styles.editing)} role="img" aria-label={label} title={label}>
      <Avatar name={name} />
    </span>
  )
}
