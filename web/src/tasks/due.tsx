import { useFormatter, useNow, useTranslations } from 'use-intl'
import { Tag } from '../ui/tag.tsx'
import { Tip } from '../ui/tip.tsx'
import { dayOf } from '../views/money.ts'
import type { ShownTask } from './task-data.ts'
import { usePersonZone } from './person-zone.ts'
import { dayAfter, dayIn } from './zones.ts'
import styles from './tasks.module.css'

type Dated = Pick<ShownTask, 'dueDate' | 'dueAt' | 'deadline' | 'done'>

/** Is the task open and overdue? A timeline entry has no deadline, only the day or the instant. */
export function isOverdue({ dueDate, dueAt, deadline, done }: Dated, now: Date, today: string): boolean {
  if (done) return false
  const end = deadline ?? dueAt
  if (end !== null && end !== undefined) return Date.parse(end) <= now.getTime()
  return dueDate !== null && dueDate < today
}

/** The day on which a task is due, in the person's time zone. */
export const dueDayOf = ({ dueDate, dueAt }: Pick<Dated, 'dueDate' | 'dueAt'>, zone: string): string | undefined =>
  dueDate ?? (dueAt === null ? undefined : dayIn(zone, new Date(dueAt)))

/** The due date in words: `Today, 17:30`; marked if overdue. */
export function Due({ task }: { task: Dated }) {
  const t = useTranslations('tasks')
  const format = useFormatter()
  const zone = usePersonZone()
  const now = useNow({ updateInterval: 60_000 })
  const today = dayIn(zone, now)
  const day = dueDayOf(task, zone)
  if (day === undefined) return undefined
  const late = isOverdue(task, now, today)
  const time = task.dueAt === null ? undefined : new Date(task.dueAt)
  const name = { [dayAfter(today, -1)]: t('yesterday'), [today]: t('today'), [dayAfter(today, 1)]: t('tomorrow') }[day]
  const isThisYear = day.slice(0, 4) === today.slice(0, 4)
  const date = format.dateTime(dayOf(day), {
    day: 'numeric',
    month: 'short',
    ...(!isThisYear && { year: 'numeric' }),
    timeZone: 'UTC',
  })
  const clock = time && format.dateTime(time, { timeStyle: 'short', timeZone: zone })
  const full = time
    ? format.dateTime(time, { dateStyle: 'full', timeStyle: 'long', timeZone: zone })
    : format.dateTime(dayOf(day), { dateStyle: 'full', timeZone: 'UTC' })
  return (
    <span className={styles.due}>
      {late && <Tag tint="red">{t('overdue')}</Tag>}
      <Tip label={full}>
        <time dateTime={task.dueAt ?? day} tabIndex={0} data-overdue={late || undefined} className={styles.dueTime}>
          {[name ?? date, clock].filter(Boolean).join(', ')}
        </time>
      </Tip>
    </span>
  )
}
