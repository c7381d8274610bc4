import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { type Option, SelectField } from '../ui/field.tsx'
import { useActors } from './actors.ts'
import { useActions } from './audit-actions.ts'
import styles from './audit-log.module.css'
import { DateField } from './date-field.tsx'
import { endOfDay, startOfDay, toDateInput } from './dates.ts'
import type { ApiKey, Member } from './records.ts'
import { useSentence } from './sentences.ts'

type Filters = Readonly<Record<string, string>>

interface AuditFiltersProps {
  /** Values by the names of the API's parameters. */
  filters: Filters
  onChange(filters: Record<string, string>): void
}

const action = 'filter.action.equals'
const actor = 'filter.actorId.equals'
const record = 'filter.recordId.equals'
const from = 'filter.createdAt.gte'
const until = 'filter.createdAt.lte'

/** Filters by action, actor and time; a link from a record also filters by that record. */
export function AuditFilters({ filters, onChange }: AuditFiltersProps) {
  const t = useTranslations('settings.audit')
  const common = useTranslations('common')
  const sentence = useSentence()
  const actions = useActions().map((one) => ({ value: one.action, label: sentence(one.description) }))
  const actors = useActorOptions(filters[actor])
  const set = (name: string, value: string | undefined) => {
    const { [name]: _, ...others } = filters
    onChange({ ...others, ...(value && { [name]: value }) })
  }
  return (
    <search aria-label={t('filters')}>
      <div className={styles.filters}>
        <SelectField
          label={t('action')}
          value={filters[action] ?? ''}
          onChange={(event) => set(action, event.target.value)}
          options={[{ value: '', label: t('anyAction') }, ...withCurrent(actions, filters[action])]}
        />
        <SelectField
          label={t('actor')}
          value={filters[actor] ?? ''}
          onChange={(event) => set(actor, event.target.value)}
          options={[{ value: '', label: t('anyActor') }, ...actors]}
        />
        <DateField
          label={t('from')}
          value={toDateInput(filters[from]) ?? ''}
          onChange={(day) => set(from, startOfDay(day))}
        />
        <DateField
          label={t('until')}
          value={toDateInput(filters[until]) ?? ''}
          onChange={(day) => set(until, endOfDay(day))}
        />
      </div>
      {Object.keys(filters).length > 0 && (
        <div className={styles.recordFilter}>
          {filters[record] !== undefined && <span>{t('onlyRecord', { id: filters[record] })}</span>}
          <Button kind="quiet" icon={X} onClick={() => onChange({})}>
            {common('clearFilters')}
          </Button>
        </div>
      )}
    </search>
  )
}

/** A URL value that is not among the options is shown unchanged. */
const withCurrent = (options: readonly Option[], current: string | undefined): readonly Option[] =>
  current === undefined || options.some(({ value }) => value === current)
    ? options
    : [...options, { value: current, label: current }]

/** The first members and keys by name, and the chosen actor. */
function useActorOptions(chosen: string | undefined): readonly Option[] {
  const names = useActors(chosen === undefined ? [] : [chosen])
  const choices = useQuery({
    queryKey: ['actors', 'choices'],
    queryFn: async () => {
      const query = (orderBy: string) => new URLSearchParams({ limit: '100', orderBy, sort: 'asc' })
      const [members, keys] = await Promise.all([
        send<Member[]>('GET', '/v5/members', { query: query('person') }),
        send<ApiKey[]>('GET', '/v5/api-keys', { query: query('name') }),
      ])
      return [
        ...members.body.map(({ id, person }) => ({ value: id, label: person.name })),
        ...keys.body.map(({ id, name }) => ({ value: id, label: name })),
      ]
    },
    staleTime: 60_000,
  })
  const options = choices.data ?? []
  return options.some(({ value }) => value === chosen) || chosen === undefined
    ? options
    : [...options, { value: chosen, label: names[chosen] ?? chosen }]
}
