import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { type RecordData, useResource } from '../../api/schema.ts'
import { buttonClasses } from '../../ui/button.tsx'
import { Failure } from '../../ui/empty-state.tsx'
import { List, ListRow } from '../../ui/page.tsx'
import { Title } from '../../views/value.tsx'
import { jobsQuery, usePeriod } from '../employment-data.ts'

/** Who works or worked at a company, by their employments. */
export function Jobs({ record }: { record: RecordData }) {
  const t = useTranslations('employments')
  const contacts = useResource('contacts')
  const periodOf = usePeriod()
  const { data, error, refetch } = useQuery(jobsQuery(record.id))
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data || !contacts || data.jobs.length === 0) return undefined
  const filter = JSON.stringify({ employments: { some: { companyId: { equals: record.id } } } })
  return (
    <>
      <h3>{t('atCompany')}</h3>
      <List label={t('atCompany')}>
        {data.jobs.map(
          ({ employment, person }) =>
            person && (
              <ListRow
                key={employment.id}
                title={<Title resource={contacts} record={person} />}
                text={[employment.title, periodOf(employment)].filter(Boolean).join(' · ')}
              />
            ),
        )}
      </List>
      {!data.isComplete && (
        <p>
          <Link
            to="/$resource"
            params={{ resource: 'contacts' }}
            search={{ filter } as never}
            className={buttonClasses('default')}
          >
            {t('allAtCompany')}
          </Link>
        </p>
      )}
    </>
  )
}
