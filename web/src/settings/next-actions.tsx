import { useQuery } from '@tanstack/react-query'
import { Lightbulb } from 'lucide-react'
import { useFormatter, useTranslations } from 'use-intl'
import { type Schemas, send, type Whole } from '../api/client.ts'
import { Loading } from '../ui/states.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { List, ListRow, PageContent, Panel, Table } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { SectionBar } from './section-bar.tsx'
import settings from './settings.module.css'

type Statistics = Schemas['SuggestionStatistics']
type Counts = Statistics['totals'][number]
type Analysis = Whole<Schemas['NoteAnalysisSelection']>

/** How often people accept suggestions, by action, and which engine reads the notes. */
export function NextActions() {
  const t = useTranslations('settings.nextActions')
  const { data, error, refetch } = useQuery({
    queryKey: ['suggestion statistics'],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: '1', orderBy: 'createdAt', sort: 'desc' })
      const [statistics, analyses] = await Promise.all([
        send<Statistics>('GET', '/v5/suggestions/statistics', { signal }),
        send<Analysis[]>('GET', '/v5/note-analyses', { query, signal }),
      ])
      return { statistics: statistics.body, latest: analyses.body[0] }
    },
  })
  return (
    <>
      <SectionBar title={t('title')} />
      <PageContent isNarrow>
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {!data && !error && <Loading />}
        {data && (
          <>
            <Panel title={t('engine')} description={t('engineText')}>
              <Engine latest={data.latest} />
            </Panel>
            <Panel title={t('precision')} description={t('precisionText')}>
              <Precision statistics={data.statistics} />
            </Panel>
          </>
        )}
      </PageContent>
    </>
  )
}

/** The engine that read the newest note, which is the configured one. */
function Engine({ latest }: { latest: Analysis | undefined }) {
  const t = useTranslations('settings.nextActions')
  if (!latest) return <p className={settings.soft}>{t('noNote')}</p>
  const { engine, model, degraded, degradedReason, createdAt } = latest
  return (
    <List label={t('engine')}>
      <ListRow
        title={engine === 'model' || degraded ? t('model', { model: model ?? '' }) : t('rules')}
        text={degraded && degradedReason !== null ? t(`degraded.${degradedReason}`) : undefined}
      >
        <span className={settings.soft}>
          <Time value={createdAt} isFocusable />
        </span>
      </ListRow>
    </List>
  )
}

function Precision({ statistics: { totals } }: { statistics: Statistics }) {
  const t = useTranslations('settings.nextActions')
  const format = useFormatter()
  const engines = new Set(totals.map(({ engine }) => engine))
  if (totals.length === 0) return <EmptyState icon={Lightbulb} title={t('nothing')} text={t('nothingText')} />
  const number = (title: string, valueOf: (counts: Counts) => number) => ({
    title,
    isNumber: true,
    show: (counts: Counts) => format.number(valueOf(counts)),
  })
  return (
    <Table
      label={t('byAction')}
      columns={[
        { title: t('action'), show: ({ type }) => t(`actions.${type}`) },
        ...(engines.size > 1 ? [{ title: t('foundBy'), show: ({ engine }: Counts) => t(`engines.${engine}`) }] : []),
        number(t('pending'), ({ pending }) => pending),
        number(t('accepted'), ({ accepted }) => accepted),
        number(t('edited'), ({ edited }) => edited),
        number(t('rejected'), ({ rejected }) => rejected),
        number(t('byItself'), ({ autoApplied }) => autoApplied),
        {
          title: t('precision'),
          isNumber: true,
          show: ({ precision }) => (precision === null ? '–' : format.number(precision, { style: 'percent' })),
        },
      ]}
      rows={totals}
      keyOf={({ type, engine }) => `${type} ${engine}`}
    />
  )
}
