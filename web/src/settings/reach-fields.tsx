import { useTranslations } from 'use-intl'
import { useSchema } from '../api/schema.ts'
import { useLabel } from '../messages/labels.ts'
import { SelectField } from '../ui/field.tsx'
import { Panel } from '../ui/page.tsx'
import { reachNouns, type Reach, type ReachNoun } from './records.ts'
import styles from './settings.module.css'

const levels = ['all', 'team', 'own'] as const
type Level = (typeof levels)[number]

interface ReachFieldsProps {
  reach: Reach
  error: string | undefined
  onChange(reach: Reach): void
}

/** Which records people with a role see, for each resource whose records have an owner. */
export function ReachFields({ reach, error, onChange }: ReachFieldsProps) {
  const t = useTranslations('settings.reach')
  const labelOf = useReachLabel()
  return (
    <Panel title={t('title')} description={t('text')}>
      {error !== undefined && (
        <p className={styles.danger} tabIndex={-1} aria-invalid>
          {error}
        </p>
      )}
      <div className={styles.columns}>
        {reachNouns.map((noun) => {
          const [kind, level] = [kindOf(noun), reach[noun]]
          return (
            <SelectField
              key={noun}
              label={labelOf(noun)}
              hint={t(`${kind}.${level}`)}
              value={level}
              options={levels.map((value) => ({ value, label: t(value) }))}
              onChange={({ target }) => onChange({ ...reach, [noun]: target.value as Level })}
            />
          )
        })}
      </div>
    </Panel>
  )
}

/** What ties a record to a person: contacts also have a team, tasks an assignee. */
const kindOf = (noun: ReachNoun): 'contact' | 'task' | 'other' =>
  noun === 'contact' || noun === 'task' ? noun : 'other'

function useReachLabel(): (noun: ReachNoun) => string {
  const schema = useSchema()
  const labelOf = useLabel()
  return (noun) => labelOf(schema.find(({ singular }) => singular === noun)?.label ?? noun)
}

/** A reach in one line: `All records`, or the restrictions. */
export function useReachSummary(): (reach: Partial<Reach>) => string {
  const t = useTranslations('settings.reach')
  const labelOf = useReachLabel()
  return (reach) => {
    const parts = reachNouns.flatMap((noun) => {
      const level = reach[noun] ?? 'all'
      return level === 'all' ? [] : `${labelOf(noun)}: ${t(`short.${level}`)}`
    })
    return parts.length === 0 ? t('short.all') : parts.join(', ')
  }
}
