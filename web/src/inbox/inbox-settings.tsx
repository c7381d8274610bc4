import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { LaterMessages } from '../messages/later-messages.tsx'
import { buttonClasses } from '../ui/button.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { PageBar, PageContent, Panel, Table, type TableColumn } from '../ui/page.tsx'
import { Loading } from '../ui/states.tsx'
import { useNotifyFailure } from '../ui/toast.tsx'
import { DigestPanel } from './digest-panel.tsx'
import { type EntryKind, entryKinds } from './inbox-data.ts'
import styles from './inbox.module.css'
import { PushSwitch } from './push-switch.tsx'
import { chooseWay, mailWayOf, type Settings, settingsQuery, type Way, waysOf } from './settings-data.ts'

/** How the person hears of what concerns them in the organization: kinds and ways, and the daily mail. */
export function InboxSettings() {
  return (
    <LaterMessages>
      <Content />
    </LaterMessages>
  )
}

function Content() {
  const t = useTranslations('inbox')
  const { data, error, refetch } = useQuery(settingsQuery)
  return (
    <>
      <PageBar
        title={t('settings')}
        leading={
          <Link to="/inbox" className={buttonClasses('quiet')} aria-label={t('title')}>
            <ChevronLeft size={16} strokeWidth={1.75} aria-hidden />
          </Link>
        }
      />
      <PageContent isNarrow>
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {!data && !error && <Loading />}
        {data && <WaysPanel settings={data} />}
        {data && <PushSwitch />}
        {data && <DigestPanel settings={data} />}
      </PageContent>
    </>
  )
}

function WaysPanel({ settings }: { settings: Settings }) {
  const t = useTranslations('inbox.ways')
  const column = (title: string, wayOf: (kind: EntryKind) => Way): TableColumn<EntryKind> => ({
    title,
    show: (kind) => <WayCheck {...{ settings, kind, title }} way={wayOf(kind)} />,
  })
  const columns: readonly TableColumn<EntryKind>[] = [
    { title: t('kind'), show: (kind) => t(`kinds.${kind}`) },
    column(t('inbox'), () => 'inbox'),
    column(t('mail'), mailWayOf),
    column(t('push'), () => 'push'),
  ]
  return (
    <Panel title={t('title')} description={t('text')}>
      <div className={styles.ways}>
        <Table label={t('table')} columns={columns} rows={entryKinds} keyOf={(kind) => kind} />
      </div>
    </Panel>
  )
}

interface WayCheckProps {
  settings: Settings
  kind: EntryKind
  way: Way
  /** The title of its column. */
  title: string
}

function WayCheck({ settings, kind, way, title }: WayCheckProps) {
  const t = useTranslations('inbox.ways')
  const notifyFailure = useNotifyFailure()
  const when = way === 'mail' || way === 'digest' ? t(`when.${way}`) : undefined
  return (
    <label className={styles.way}>
      <input
        type="checkbox"
        aria-label={[t(`kinds.${kind}`), title, ...(when === undefined ? [] : [when])].join(', ')}
        checked={waysOf(settings, kind).includes(way)}
        onChange={({ target }) => void chooseWay(settings, kind, way, target.checked).catch(notifyFailure)}
      />
      {when}
    </label>
  )
}
