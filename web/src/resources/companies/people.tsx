import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { send } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { type RecordData, useResource } from '../../api/schema.ts'
import { about } from '../../live/refetch.ts'
import { buttonClasses } from '../../ui/button.tsx'
import { Failure } from '../../ui/empty-state.tsx'
import { List, ListRow } from '../../ui/page.tsx'
import { Title } from '../../views/value.tsx'
import styles from '../../views/sections.module.css'
import { jobsQuery } from '../employment-data.ts'
import { Jobs } from './jobs.tsx'

const shownPeople = 10

const peopleQuery = (companyId: string) =>
  queryOptions({
    queryKey: ['people', companyId],
    queryFn: async ({ signal }) => {
      const filter = { 'filter.companyId.equals': companyId }
      const [people, count] = await Promise.all([
        send<RecordData[]>('GET', '/v5/contacts', {
          query: new URLSearchParams({ ...filter, limit: String(shownPeople) }),
          signal,
        }),
        send<{ count: number }>('GET', '/v5/contacts/count', { query: new URLSearchParams(filter), signal }),
      ])
      return { people: people.body, count: count.body.count }
    },
    meta: { follows: about(companyId, 'contact') },
  })

export const loadPeople = (companyId: string): Promise<unknown> =>
  Promise.all([queryClient.prefetchQuery(peopleQuery(companyId)), queryClient.prefetchQuery(jobsQuery(companyId))])

/** The contacts of a company, and who works or worked there. */
export const People = ({ record }: { record: RecordData }) => (
  <>
    <Contacts record={record} />
    <Jobs record={record} />
  </>
)

/** The first contacts of a company, with a link to the filtered list of all. */
function Contacts({ record }: { record: RecordData }) {
  const t = useTranslations('record')
  const contacts = useResource('contacts')
  const { data, error, refetch } = useQuery(peopleQuery(record.id))
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data || !contacts) return undefined
  if (data.count === 0) return <p className={styles.soft}>{t('noPeople')}</p>
  return (
    <>
      <List label={t('people')}>
        {data.people.map((person) => (
          <ListRow
            key={person.id}
            title={<Title resource={contacts} record={person} />}
            text={[person.employmentTitle, person.email].filter(Boolean).join(' · ')}
          />
        ))}
      </List>
      <p>
        <Link
          to="/$resource"
          params={{ resource: 'contacts' }}
          search={{ 'filter.companyId.equals': record.id }}
          className={buttonClasses('default')}
        >
          {t('allPeople', { count: data.count })}
        </Link>
      </p>
    </>
  )
}
