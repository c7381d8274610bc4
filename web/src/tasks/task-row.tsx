import { Link } from '@tanstack/react-router'
import { Ellipsis, Pencil, Repeat, Trash2 } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { useTranslations } from 'use-intl'
import { IconButton } from '../ui/button.tsx'
import { Check } from '../ui/check.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Avatar, Tag, tintOfState } from '../ui/tag.tsx'
import { useChoiceLabel } from '../views/choices.ts'
import { Due } from './due.tsx'
import { useRuleSentence } from './rule-sentence.ts'
import { EditTask } from './task-dialog.tsx'
import type { ShownTask } from './task-data.ts'
import { useTaskActions } from './use-task-actions.ts'
import styles from './tasks.module.css'

interface TaskRowProps {
  task: ShownTask
  /** Shows the assignee. */
  assignee: string | undefined
  /** Shows a link to the task's record, where that is not clear. */
  children?: ReactNode
}

/** A task. A click or Space on its circle finishes it. */
export function TaskRow({ task, assignee, children }: TaskRowProps) {
  const t = useTranslations('tasks')
  const common = useTranslations('common')
  const choiceLabel = useChoiceLabel()
  const sentenceOf = useRuleSentence()
  const { mayChange, mayDelete, toggle, remove } = useTaskActions()
  const [isEditing, setEditing] = useState(false)
  const row = useRef<HTMLDivElement>(null)
  return (
    <div ref={row} className={styles.row} data-done={task.done || undefined}>
      <Check
        label={t('doneNamed', { title: task.title })}
        isChecked={task.done}
        disabled={!mayChange}
        onChange={() => toggle(task)}
      />
      <div className={styles.text}>
        <Link to="/$resource/$recordId" params={{ resource: 'tasks', recordId: task.id }} className={styles.title}>
          {task.title}
        </Link>
        <span className={styles.about}>
          <Due task={task} />
          {typeof task.recurrence === 'string' && (
            <span className={styles.repeats}>
              <Repeat size={12} aria-hidden />
              {sentenceOf(task.recurrence)}
            </span>
          )}
          {task.priority !== 'normal' && (
            <Tag tint={tintOfState(task.priority, task.priority)}>{choiceLabel(task.priority)}</Tag>
          )}
          {assignee !== undefined && (
            <span className={styles.assignee}>
              <Avatar name={assignee} />
              <span className="truncate">{assignee}</span>
            </span>
          )}
          {children}
        </span>
      </div>
      {(mayChange || mayDelete) && (
        <Menu trigger={<IconButton icon={Ellipsis} label={t('actionsFor', { title: task.title })} hasTip={false} />}>
          {mayChange && (
            <MenuItem icon={Pencil} onSelect={() => setEditing(true)}>
              {common('edit')}
            </MenuItem>
          )}
          {mayDelete && (
            <MenuItem icon={Trash2} isDanger onSelect={() => void remove(task, row.current)}>
              {common('delete')}
            </MenuItem>
          )}
        </Menu>
      )}
      {isEditing && <EditTask id={task.id} onClose={() => setEditing(false)} />}
    </div>
  )
}
