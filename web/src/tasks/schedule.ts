import type { Task } from './task-data.ts'
import { type Repeat, repeatOf, ruleOf } from './repeat.ts'
import { dayIn, momentOf, timeIn } from './zones.ts'

/** When a task is due, when it reminds and how it repeats, as its form shows it. Empty texts for what is missing. */
export interface Schedule {
  day: string
  time: string
  /** Minutes before, or `at` for a day and a time. */
  remind: number | 'none' | 'at'
  remindDay: string
  remindTime: string
  repeat: Repeat
}

export function scheduleOf(task: Task | undefined, zone: string): Schedule {
  const due = task?.dueAt ? new Date(task.dueAt) : undefined
  const day = due ? dayIn(zone, due) : (task?.dueDate ?? '')
  const at = task?.remindAt ? new Date(task.remindAt) : undefined
  return {
    day,
    time: due ? timeIn(zone, due) : '',
    remind: at ? 'at' : (task?.remindBefore ?? 'none'),
    remindDay: at ? dayIn(zone, at) : '',
    remindTime: at ? timeIn(zone, at) : '',
    repeat: repeatOf(task?.recurrence, day === '' ? undefined : day),
  }
}

/** The day on which it is due: a time alone means today. Undefined if it is not due. */
export const dueDayOf = ({ day, time }: Pick<Schedule, 'day' | 'time'>, zone: string): string | undefined =>
  day !== '' ? day : time === '' ? undefined : dayIn(zone, new Date())

/** The fields of a task. A day alone is a due day; with a time, it is an instant. */
export function scheduleValues(schedule: Schedule, zone: string): object {
  const { time, remind, remindDay, remindTime, repeat } = schedule
  const day = dueDayOf(schedule, zone)
  const dueAt = day !== undefined && time !== '' ? momentOf(day, time, zone).toISOString() : null
  const remindOn = remindDay === '' ? (day ?? dayIn(zone, new Date())) : remindDay
  return {
    dueDate: dueAt === null ? (day ?? null) : null,
    dueAt,
    remindAt: remind === 'at' ? momentOf(remindOn, remindTime === '' ? morning : remindTime, zone).toISOString() : null,
    remindBefore: typeof remind === 'number' && day !== undefined ? remind : null,
    recurrence: day === undefined ? null : ruleOf(repeat, day),
  }
}

export const morning = '09:00'
