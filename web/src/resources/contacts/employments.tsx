import { queryOptions, useQuery } from '@tanstack/react-query'
import { useFormatter, useTranslations } from 'use-intl'
import { type Schemas, send } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import type { RecordData } from '../../api/schema.ts'
import { about } from '../../live/refetch.ts'
import { Failure } from '../../ui/empty-state.tsx'
import { List, ListRow } from '../../ui/page.tsx'
import { Avatar } from '../../ui/tag.tsx'
import styles from '../../views/sections.module.css'

type Employment = Schemas['Employment']

const employmentsQuery = (contactId: string) =>
  queryOptions({
    queryKey: ['employments', contactId],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: '100' })
      return (await send<Employment[]>('GET', `/v5/contacts/${contactId}/employments`, { query, signal })).body
    },
    meta: { follows: about(contactId, 'employment') },
  })

export const loadEmployments = (contactId: string): Promise<void> =>
  queryClient.prefetchQuery(employmentsQuery(contactId))

/** A contact's current and past employments. */
export function Employments({ record }: { record: RecordData }) {
  const t = useTranslations('record')
  const format = useFormatter()
  const { data, error, refetch } = useQuery(employmentsQuery(record.id))
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (data?.length === 0) return <p className={styles.soft}>{t('noEmployments')}</p>
  const month = (text: string | null) =>
    text === null ? undefined : format.dateTime(new Date(`${text}-15T12:00:00Z`), { year: 'numeric', month: 'short' })
  const period = ({ start, end, current }: Employment) =>
    [month(start), current ? t('present') : month(end)].filter(Boolean).join(' – ')
  return (
    <List label={t('employments')}>
      {(data ?? []).map((employment) => (
        <ListRow
          key={employment.id}
          leading={<Avatar name={employment.organization} isSquare />}
          title={[employment.title, employment.organization].filter(Boolean).join(' · ')}
          text={period(employment)}
        />
      ))}
    </List>
  )
}
