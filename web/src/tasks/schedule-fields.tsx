import { useTranslations } from 'use-intl'
import { SelectField, TextField } from '../ui/field.tsx'
import { usePersonZone } from './person-zone.ts'
import { reminderLike, remindersBefore, useReminderLabel } from './reminder.ts'
import { RepeatFields } from './repeat-fields.tsx'
import { dueDayOf, morning, type Schedule } from './schedule.ts'
import { dayIn } from './zones.ts'
import styles from './tasks.module.css'

interface ScheduleFieldsProps {
  schedule: Schedule
  errorOf(field: string): string | undefined
  onChange(schedule: Schedule): void
}

/** When a task is due, when it reminds, and how it repeats. */
export function ScheduleFields({ schedule, errorOf, onChange }: ScheduleFieldsProps) {
  const t = useTranslations('tasks')
  const zone = usePersonZone()
  const due = dueDayOf(schedule, zone)
  const set = (change: Partial<Schedule>) => onChange({ ...schedule, ...change })
  const setTime = (time: string) => {
    const { remind } = schedule
    const isSwitched = (time === '') !== (schedule.time === '') && typeof remind === 'number'
    set({ time, ...(isSwitched && { remind: reminderLike(remind, time !== '') }) })
  }
  return (
    <>
      <div className={styles.dueFields}>
        <TextField
          label={t('dueOn')}
          type="date"
          isOptional
          value={schedule.day}
          error={errorOf('dueDate')}
          onChange={(event) => set({ day: event.target.value })}
        />
        <TextField
          label={t('dueTime')}
          type="time"
          isOptional
          value={schedule.time}
          error={errorOf('dueAt')}
          onChange={(event) => setTime(event.target.value)}
        />
      </div>
      <ReminderFields schedule={schedule} due={due} errorOf={errorOf} onChange={set} />
      <RepeatFields
        repeat={schedule.repeat}
        due={due}
        error={errorOf('recurrence')}
        onChange={(repeat) => set({ repeat })}
      />
    </>
  )
}

interface ReminderFieldsProps extends Pick<ScheduleFieldsProps, 'schedule' | 'errorOf'> {
  due: string | undefined
  onChange(change: Partial<Schedule>): void
}

function ReminderFields({ schedule, due, errorOf, onChange }: ReminderFieldsProps) {
  const t = useTranslations('tasks')
  const labelOf = useReminderLabel()
  const zone = usePersonZone()
  const { remind, time } = schedule
  const hasTime = time !== ''
  const minutes = [...new Set([...remindersBefore(hasTime), ...(typeof remind === 'number' ? [remind] : [])])]
  const choose = (value: string) => {
    if (value !== 'at') return onChange({ remind: value === 'none' ? 'none' : Number(value) })
    onChange({ remind: 'at', remindDay: due ?? dayIn(zone, new Date()), remindTime: morning })
  }
  return (
    <>
      <SelectField
        label={t('reminder')}
        value={due === undefined && remind !== 'at' ? 'none' : String(remind)}
        options={[
          { value: 'none', label: t('noReminder') },
          ...(due === undefined ? [] : minutes.map((one) => ({ value: String(one), label: labelOf(one, hasTime) }))),
          { value: 'at', label: t('remindAt') },
        ]}
        error={errorOf('remindBefore')}
        onChange={(event) => choose(event.target.value)}
      />
      {remind === 'at' && (
        <div className={styles.dueFields}>
          <TextField
            label={t('remindDay')}
            type="date"
            value={schedule.remindDay}
            error={errorOf('remindAt')}
            onChange={(event) => onChange({ remindDay: event.target.value })}
          />
          <TextField
            label={t('remindClock')}
            type="time"
            value={schedule.remindTime}
            onChange={(event) => onChange({ remindTime: event.target.value })}
          />
        </div>
      )}
    </>
  )
}
