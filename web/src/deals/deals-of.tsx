import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useLocale, useTranslations } from 'use-intl'
import { send } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { about } from '../live/refetch.ts'
import { type RecordData, useResource } from '../api/schema.ts'
import { Button, buttonClasses } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { List, ListRow } from '../ui/page.tsx'
import { Tag } from '../ui/tag.tsx'
import { CreateDialog } from '../views/create-dialog.tsx'
import { formatMoney } from '../views/money.ts'
import { Title } from '../views/value.tsx'
import sections from '../views/sections.module.css'
import styles from './deals.module.css'
import { type Deal, stageTint } from './records.ts'

/** The list filter for these deals. */
type Filter = Readonly<Record<string, string>>

interface DealsOfProps {
  filter: Filter
  /** Initial values of a new deal, by property name. */
  initial: Readonly<Record<string, unknown>>
  onCreated?(deal: RecordData): Promise<void>
}

const shownDeals = 10

type ListedDeal = RecordData & Deal & { stage: { name: string } | null }

const dealsOfQuery = (filter: Filter) =>
  queryOptions({
    queryKey: ['deals-of', filter],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ ...filter, limit: String(shownDeals) })
      const [shown, count] = await Promise.all([
        send<ListedDeal[]>('GET', '/v5/deals', { query, signal }),
        send<{ count: number }>('GET', '/v5/deals/count', { query: new URLSearchParams(filter), signal }),
      ])
      return { shown: shown.body, count: count.body.count }
    },
    meta: { follows: about(Object.values(filter)[0] ?? '', 'deal', 'deal-contact', 'stage') },
  })

const ofCompany = (id: string): Filter => ({ 'filter.companyId.equals': id })
const ofContact = (id: string): Filter => ({ 'filter.contacts.contactId.equals': id })

export const loadCompanyDeals = (id: string): Promise<void> => queryClient.prefetchQuery(dealsOfQuery(ofCompany(id)))
export const loadContactDeals = (id: string): Promise<void> => queryClient.prefetchQuery(dealsOfQuery(ofContact(id)))

/** The first deals of a company or a contact, with a link to the filtered list of all. */
function DealsOf({ filter, initial, onCreated }: DealsOfProps) {
  const t = useTranslations('deals')
  const sectionTitle = useTranslations('record')
  const locale = useLocale()
  const deals = useResource('deals')
  const [isCreating, setCreating] = useState(false)
  const { data, error, refetch } = useQuery(dealsOfQuery(filter))
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data || !deals) return undefined
  return (
    <>
      {data.count === 0 && <p className={sections.soft}>{t('noDealsHere')}</p>}
      {data.count > 0 && (
        <List label={sectionTitle('deals')}>
          {data.shown.map((deal) => (
            <ListRow key={deal.id} title={<Title resource={deals} record={deal} />}>
              {deal.amount !== null && (
                <span className={styles.listAmount}>{formatMoney(deal.amount, deal.currency, locale)}</span>
              )}
              {deal.stage && (
                <Tag tint={stageTint({ kind: deal.status, name: deal.stage.name })} hasDot>
                  {deal.stage.name}
                </Tag>
              )}
            </ListRow>
          ))}
        </List>
      )}
      <div className={styles.buttons}>
        {deals.permissions.create && (
          <Button icon={Plus} onClick={() => setCreating(true)}>
            {t('newDeal')}
          </Button>
        )}
        {data.count > 0 && (
          <Link
            to="/$resource"
            params={{ resource: 'deals' }}
            search={{ ...filter, view: 'table' }}
            className={buttonClasses('quiet')}
          >
            {t('allDeals', { count: data.count })}
          </Link>
        )}
      </div>
      {isCreating && (
        <CreateDialog
          resource={deals}
          text=""
          initial={initial}
          onCreated={async (deal) => {
            await onCreated?.(deal)
            void queryClient.invalidateQueries({ queryKey: ['deals-of'] })
          }}
          onClose={() => setCreating(false)}
        />
      )}
    </>
  )
}

export const CompanyDeals = ({ record }: { record: RecordData }) => (
  <DealsOf filter={ofCompany(record.id)} initial={{ company: record.id }} />
)

/** A new deal of a contact gets the contact's company, and the contact as its primary one. */
export const ContactDeals = ({ record }: { record: RecordData }) => (
  <DealsOf
    filter={ofContact(record.id)}
    initial={{ company: record.companyId }}
    onCreated={async ({ id }) =>
      void (await send('POST', `/v5/deals/${id}/contacts`, { body: { contactId: record.id, isPrimary: true } }))
    }
  />
)
