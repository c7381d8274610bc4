import type { KeyboardEvent } from 'react'
import { useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { refusesUnreadable, unreadableIn } from '../ui/field.tsx'
import { Popover } from '../ui/popover.tsx'
import { useFinish, type ValueEditorProps } from '../views/editing.ts'
import { usePersonZone } from './person-zone.ts'
import { repeatOf, ruleOf } from './repeat.ts'
import { RepeatFields } from './repeat-fields.tsx'
import { useRuleSentence } from './rule-sentence.ts'
import type { Task } from './task-data.ts'
import { dayIn } from './zones.ts'
import styles from './tasks.module.css'

/** Edits how a task repeats in place, with the fields of its form below the cell. Enter saves, Tab goes to the next field. */
export function RecurrenceEditor({ property, value, record, onCommit, onCancel }: ValueEditorProps) {
  const t = useTranslations('tasks')
  const sentenceOf = useRuleSentence()
  const zone = usePersonZone()
  const box = useRef<HTMLDivElement>(null)
  const [anchor, setAnchor] = useState<HTMLSpanElement | null>(null)
  const { dueAt, dueDate } = (record ?? {}) as Partial<Task>
  const due = dueAt ? dayIn(zone, new Date(dueAt)) : (dueDate ?? undefined)
  const before = typeof value === 'string' ? value : null
  const [first] = useState(() => repeatOf(before, due))
  const [repeat, setRepeat] = useState(first)
  // The fields can say the same rule in other words, and without a due date they say none.
  const rule = repeat === first || due === undefined ? before : ruleOf(repeat, due)
  const { finish, onKeyDown } = useFinish({ valueOf: () => rule, onCommit, onCancel })
  const unlessTab = (event: KeyboardEvent<HTMLElement>) => {
    if (event.key === 'Tab') event.stopPropagation()
    else if (event.key === 'Enter' && refusesUnreadable(event.currentTarget)) event.preventDefault()
    else onKeyDown(event)
  }
  // Invalid text says no rule.
  const close = () => (box.current && unreadableIn(box.current).length > 0 ? onCancel() : finish(undefined))
  return (
    <>
      <span ref={setAnchor} className={styles.cell}>
        {rule === null ? t('repeatUnits.never') : sentenceOf(rule)}
      </span>
      <Popover
        label={property.label}
        anchor={anchor}
        isOpen={anchor !== null}
        onOpenChange={(isOpen) => isOpen || close()}
      >
        <div ref={box} className={styles.repeatFields} onKeyDown={unlessTab} role="presentation">
          <RepeatFields repeat={repeat} due={due} error={undefined} onChange={setRepeat} />
        </div>
      </Popover>
    </>
  )
}
