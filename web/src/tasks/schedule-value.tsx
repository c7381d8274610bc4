import type { ValueViewProps } from '../views/value-views.ts'
import { useReminderLabel } from './reminder.ts'
import { useRuleSentence } from './rule-sentence.ts'

/** `Every 2 weeks on Monday` instead of a rule, and `1 hour before` instead of minutes. */
export function ScheduleValue({ value, record }: ValueViewProps) {
  const sentenceOf = useRuleSentence()
  const labelOf = useReminderLabel()
  return <>{typeof value === 'number' ? labelOf(value, record.dueAt !== null) : sentenceOf(String(value))}</>
}

/** The editor of a rule, which is needed less often than its sentence. */
export const loadRecurrenceEditor = async () => ({
  default: (await import('./recurrence-editor.tsx')).RecurrenceEditor,
})
