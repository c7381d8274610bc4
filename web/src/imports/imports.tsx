import { useQueries, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Webhook } from 'lucide-react'
import { useFormatter, useTranslations } from 'use-intl'
import { useResource } from '../api/schema.ts'
import { LaterMessages } from '../messages/later-messages.tsx'
import { Button } from '../ui/button.tsx'
import { CopyRequest } from '../ui/copy-request.tsx'
import { EmptyState, Failure, NoMatch } from '../ui/empty-state.tsx'
import { PageBar, PageContent, Table, type TableColumn } from '../ui/page.tsx'
import { Tag, type Tint } from '../ui/tag.tsx'
import { Time } from '../ui/time.tsx'
import { useIsNarrowPage } from '../ui/use-media.ts'
import { CreateImport } from './create-import.tsx'
import { type Import, importsQuery, lastPushQuery, rowCountQuery, type RowStatus } from './import-queries.ts'
import styles from './imports.module.css'
import { done, failed, filtersOf, sumOf, waiting } from './row-states.ts'
import { teamsQuery } from './teams.ts'

/** All imports. With row filters in the URL, only imports that have such rows. */
export function Imports() {
  return (
    <LaterMessages>
      <AllImports />
    </LaterMessages>
  )
}

function AllImports() {
  const t = useTranslations('imports')
  const navigate = useNavigate()
  const search: Record<string, unknown> = useSearch({ strict: false })
  const mayCreate = useResource('imports')?.permissions.create === true
  const { data: imports, error, refetch } = useQuery(importsQuery)
  const setCreating = (isCreating: boolean) =>
    void navigate({ to: '/imports', search: isCreating ? { new: '1' } : {}, replace: true })
  const createButton = mayCreate && (
    <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
      {t('new')}
    </Button>
  )
  return (
    <>
      <PageBar title={t('title')} {...(imports && { note: t('count', { count: imports.length }) })}>
        {imports && imports.length > 0 && (
          <CopyRequest path="/v5/imports" query={{ orderBy: 'name', sort: 'asc', limit: '100' }} />
        )}
        {imports?.length !== 0 && createButton}
      </PageBar>
      {error && !imports && <Failure error={error} onRetry={() => void refetch()} />}
      {imports?.length === 0 && (
        <EmptyState icon={Webhook} title={t('empty')} text={t('emptyText')}>
          {createButton}
        </EmptyState>
      )}
      {imports && imports.length > 0 && (
        <PageContent>
          <ImportTable imports={imports} filters={filtersOf(search)} />
        </PageContent>
      )}
      {mayCreate && <CreateImport isOpen={search.new !== undefined} onClose={() => setCreating(false)} />}
    </>
  )
}

function ImportTable({ imports, filters }: { imports: readonly Import[]; filters: Record<string, string> }) {
  const t = useTranslations('imports')
  const navigate = useNavigate()
  const format = useFormatter()
  const isNarrow = useIsNarrowPage()
  const isFiltered = Object.keys(filters).length > 0
  const { data: teams } = useSuspenseQuery(teamsQuery)
  const counts = useQueries({
    queries: imports.map(({ id }) => ({ ...rowCountQuery(id, filters), enabled: isFiltered })),
  })
  const matches = new Map(imports.map(({ id }, index) => [id, counts[index]?.data]))
  const shown = isFiltered ? imports.filter(({ id }) => matches.get(id) !== 0) : imports
  if (shown.length === 0) return <NoMatch onClear={() => void navigate({ to: '/imports' })} />
  const name: TableColumn<Import> = {
    title: t('name'),
    show: (one) => (
      <Link to="/imports/$importId" params={{ importId: one.id }} search={filters} className={styles.name}>
        {one.name}
      </Link>
    ),
  }
  const matching: TableColumn<Import> = {
    title: t('matchingRows'),
    isNumber: true,
    show: ({ id }) => {
      const count = matches.get(id)
      return count === undefined ? '…' : format.number(count)
    },
  }
  const team: TableColumn<Import> = { title: t('team'), show: ({ teamId }) => teams.get(teamId) ?? t('unknownTeam') }
  const columns: TableColumn<Import>[] = [
    name,
    ...(isFiltered ? [matching] : []),
    { title: t('state'), show: (one) => <State of={one} /> },
    { title: t('rows'), show: (one) => <Counts of={one} /> },
    { title: t('lastPush'), show: ({ id }) => <LastPush importId={id} /> },
    ...(teams.size > 1 && !isNarrow ? [team] : []),
  ]
  return <Table label={t('title')} columns={columns} rows={shown} keyOf={({ id }) => id} />
}

/** Whether the import is enabled, and what needs a person's attention. */
function State({ of: { id, disabledAt, refused, pushedToday, optOuts } }: { of: Import }) {
  const t = useTranslations('imports')
  return (
    <div className={styles.counts}>
      <Enabled isEnabled={disabledAt === null} />
      {refused.senders.length > 0 && (
        <Link to="/imports/$importId" params={{ importId: id }} search={{ show: 'refused' }}>
          <Tag tint="red" hasDot>
            {t('onlyRefused')}
          </Tag>
        </Link>
      )}
      {optOuts.waiting > 0 && (
        <Link to="/imports/$importId" params={{ importId: id }}>
          <Tag tint="red" hasDot>
            {t('manyOptOuts')}
          </Tag>
        </Link>
      )}
      {pushedToday.isNearLimit && (
        <Link to="/imports/$importId" params={{ importId: id }}>
          <Tag tint="red" hasDot>
            {t('nearLimit')}
          </Tag>
        </Link>
      )}
    </div>
  )
}

export function Enabled({ isEnabled }: { isEnabled: boolean }) {
  const t = useTranslations('imports')
  return (
    <Tag tint={isEnabled ? 'green' : 'gray'} hasDot>
      {t(isEnabled ? 'enabled' : 'disabled')}
    </Tag>
  )
}

/** The number of rows by outcome; each number links to these rows. */
function Counts({ of: { id, stats, refused } }: { of: Import }) {
  const t = useTranslations('imports')
  const groups: { key: 'waitingRows' | 'doneRows' | 'failedRows'; statuses: readonly RowStatus[]; tint: Tint }[] = [
    { key: 'failedRows', statuses: failed, tint: 'red' },
    { key: 'waitingRows', statuses: waiting, tint: 'blue' },
    { key: 'doneRows', statuses: done, tint: 'green' },
  ]
  const shown = groups.filter(({ statuses }) => sumOf(stats.counts, statuses) > 0)
  if (shown.length === 0 && refused.count === 0) return <span className={styles.soft}>{t('noRows')}</span>
  return (
    <div className={styles.counts}>
      {shown.map(({ key, statuses, tint }) => (
        <Link
          key={key}
          to="/imports/$importId"
          params={{ importId: id }}
          search={{ 'filter.status.in': statuses.join(',') }}
        >
          <Tag tint={tint}>{t(key, { count: sumOf(stats.counts, statuses) })}</Tag>
        </Link>
      ))}
      {refused.count > 0 && (
        <Link to="/imports/$importId" params={{ importId: id }} search={{ show: 'refused' }}>
          <Tag tint="red">{t('refusedRows', { count: refused.count })}</Tag>
        </Link>
      )}
    </div>
  )
}

function LastPush({ importId }: { importId: string }) {
  const t = useTranslations('imports')
  const { data } = useQuery(lastPushQuery(importId))
  if (data === undefined) return '…'
  return data === null ? <span className={styles.soft}>{t('never')}</span> : <Time value={data} />
}
