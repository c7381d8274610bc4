import { useTranslations } from 'use-intl'
import { CheckField, FieldGroup, SelectField, TextField } from '../ui/field.tsx'
import { NumberField } from '../ui/number-field.tsx'
import { daysLike, type Ends, readRule, type Repeat, repeatUnits, ruleOf, weekdayOf } from './repeat.ts'
import { useDays, useRuleSentence, useWeekdays } from './rule-sentence.ts'
import { dayAfter } from './zones.ts'
import styles from './tasks.module.css'

interface RepeatFieldsProps {
  repeat: Repeat
  /** The day on which the task is due; without one it cannot repeat. */
  due: string | undefined
  error: string | undefined
  onChange(repeat: Repeat): void
}

/** How a task repeats, with the rule as a sentence. */
export function RepeatFields({ repeat, due, error, onChange }: RepeatFieldsProps) {
  const t = useTranslations('tasks')
  const sentenceOf = useRuleSentence()
  const set = (change: Partial<Repeat>) => onChange({ ...repeat, ...change })
  const rule = due === undefined ? null : ruleOf(repeat, due)
  const units = repeat.rule === undefined ? repeatUnits : [...repeatUnits, 'rule' as const]
  const isOpen = due !== undefined && repeat.unit !== 'never' && repeat.unit !== 'rule'
  return (
    <>
      <SelectField
        label={t('repeat')}
        value={due === undefined ? 'never' : repeat.unit}
        disabled={due === undefined}
        hint={due === undefined ? t('needsDue') : rule === null ? undefined : <RuleText text={sentenceOf(rule)} />}
        options={units.map((unit) => ({ value: unit, label: t(`repeatUnits.${unit}`) }))}
        error={error}
        onChange={(event) => set({ unit: units.find((unit) => unit === event.target.value) ?? 'never', on: 'date' })}
      />
      {isOpen && (
        <>
          {repeat.unit !== 'weekdays' && <IntervalField repeat={repeat} onChange={set} />}
          {repeat.unit === 'week' && <WeekdayFields repeat={repeat} due={due} onChange={set} />}
          {repeat.unit === 'month' && <MonthDayField repeat={repeat} due={due} onChange={set} />}
          <EndFields ends={repeat.ends} due={due} onChange={(ends) => set({ ends })} />
        </>
      )}
    </>
  )
}

/** Announced when it changes. */
const RuleText = ({ text }: { text: string }) => <span role="status">{text}</span>

interface PartProps {
  repeat: Repeat
  onChange(change: Partial<Repeat>): void
}

function IntervalField({ repeat: { unit, interval }, onChange }: PartProps) {
  const t = useTranslations('tasks')
  return (
    <NumberField
      key={unit}
      label={t('interval', { unit })}
      defaultValue={interval}
      rules={{ isWhole: true, minimum: 1, maximum: 999 }}
      onNumber={(number) => onChange({ interval: number ?? 1 })}
    />
  )
}

function WeekdayFields({ repeat, due, onChange }: PartProps & { due: string }) {
  const t = useTranslations('tasks')
  const nameOf = useWeekdays()
  const chosen = repeat.weekdays ?? [weekdayOf(due)]
  const toggle = (day: number) => {
    const others = chosen.filter((one) => one !== day)
    const weekdays = others.length < chosen.length ? others : [...chosen, day]
    onChange({ weekdays: weekdays.length === 0 ? undefined : weekdays.toSorted((one, other) => one - other) })
  }
  return (
    <FieldGroup label={t('onWeekdays')}>
      <div className={styles.weekdays}>
        {[0, 1, 2, 3, 4, 5, 6].map((day) => (
          <CheckField key={day} label={nameOf(day)} checked={chosen.includes(day)} onChange={() => toggle(day)} />
        ))}
      </div>
    </FieldGroup>
  )
}

function MonthDayField({ repeat: { on }, due, onChange }: PartProps & { due: string }) {
  const t = useTranslations('tasks')
  const daysOf = useDays()
  const like = daysLike(due, 'month')
  const labelOf = (part: string) => {
    const read = readRule(`FREQ=MONTHLY;${part}`)
    const days = read && daysOf(read)
    return days === undefined ? part : days.charAt(0).toUpperCase() + days.slice(1)
  }
  const others = like[on] === undefined && on.includes('=') ? [on] : []
  return (
    <SelectField
      label={t('onMonthDay')}
      value={like[on] === undefined && others.length === 0 ? 'date' : on}
      options={[
        ...Object.entries(like).map(([value, part]) => ({ value, label: labelOf(part) })),
        ...others.map((part) => ({ value: part, label: labelOf(part) })),
      ]}
      onChange={(event) => onChange({ on: event.target.value })}
    />
  )
}

interface EndFieldsProps {
  ends: Ends
  due: string
  onChange(ends: Ends): void
}

const endKinds = ['never', 'until', 'count'] as const

function EndFields({ ends, due, onChange }: EndFieldsProps) {
  const t = useTranslations('tasks')
  const first: Record<string, Ends> = {
    until: { kind: 'until', day: dayAfter(due, 365) },
    count: { kind: 'count', count: 10 },
  }
  return (
    <div className={styles.dueFields}>
      <SelectField
        label={t('ends')}
        value={ends.kind}
        options={endKinds.map((kind) => ({ value: kind, label: t(`endKinds.${kind}`) }))}
        onChange={(event) => onChange(first[event.target.value] ?? { kind: 'never' })}
      />
      {ends.kind === 'until' && (
        <TextField
          label={t('lastDay')}
          type="date"
          min={due}
          value={ends.day}
          onChange={(event) => onChange({ kind: 'until', day: event.target.value })}
        />
      )}
      {ends.kind === 'count' && (
        <NumberField
          label={t('taskCount')}
          defaultValue={ends.count}
          rules={{ isWhole: true, minimum: 1, maximum: 999 }}
          onNumber={(number) => onChange({ kind: 'count', count: number ?? 1 })}
        />
      )}
    </div>
  )
}
