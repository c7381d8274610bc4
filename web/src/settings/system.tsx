import { useQuery } from '@tanstack/react-query'
import { CircleAlert, CircleCheck, Lock, RefreshCw, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { type Schemas, send } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { Loading } from '../ui/states.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState, Failure } from '../ui/empty-state.tsx'
import { List, ListRow, PageContent, Panel } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './system.module.css'

type SystemStatus = Schemas['System']
type Finding = SystemStatus['findings'][number]

/** The state of the installation, for owners: versions, the last backup, and the findings of `rapport doctor`. */
export function System() {
  const t = useTranslations('settings.system')
  const system = useQuery({
    queryKey: ['system'],
    queryFn: async () => (await send<SystemStatus>('GET', '/v5/system')).body,
  })
  return (
    <>
      <SectionBar title={t('title')}>
        <Button icon={RefreshCw} isBusy={system.isFetching} onClick={() => void system.refetch()}>
          {t('check')}
        </Button>
      </SectionBar>
      <PageContent isNarrow>
        {system.isPending && <Loading />}
        {system.error && !system.data && <Refusal error={system.error} onRetry={() => void system.refetch()} />}
        {system.data && <Status status={system.data} />}
      </PageContent>
    </>
  )
}

/** Only owners of the installation's first organization may see this; the service decides. */
function Refusal({ error, onRetry }: { error: Error; onRetry(): void }) {
  return error instanceof ApiError && error.status === 403 ? (
    <EmptyState icon={Lock} title={error.title} text={error.description} />
  ) : (
    <Failure error={error} onRetry={onRetry} />
  )
}

function Status({ status }: { status: SystemStatus }) {
  const t = useTranslations('settings.system')
  const format = useFormatter()
  const { version, apiVersion, node, database, startedAt, backup, smtp, reasoning, findings } = status
  const problems = findings.filter(({ level }) => level !== 'ok')
  const megabytes = format.number(database.sizeBytes / 1_000_000, {
    style: 'unit',
    unit: 'megabyte',
    maximumFractionDigits: 1,
  })
  return (
    <>
      {problems.length > 0 && (
        <Panel title={t('attention')}>
          <Findings label={t('attention')} findings={problems} />
        </Panel>
      )}
      <Panel title={t('installation')}>
        <List label={t('installation')}>
          <Fact name={t('version')}>{version}</Fact>
          <Fact name={t('apiVersion')}>{apiVersion}</Fact>
          <Fact name={t('started')}>
            <Time value={startedAt} isFocusable />
          </Fact>
          <Fact name={t('backup')} note={backup.folder ?? undefined}>
            {backup.lastAt !== null ? <Time value={backup.lastAt} /> : t('noBackup')}
          </Fact>
          <Fact name={t('mail')} note={smtp ? undefined : t('noMailText')}>
            {t(smtp ? 'hasMail' : 'noMail')}
          </Fact>
          <Fact name={t('reasoning')} note={reasoning.model ?? undefined}>
            {t(reasoning.engine === 'model' ? 'byModel' : 'byRules')}
          </Fact>
          <Fact name={t('database')} note={t(database.kind === 'embedded' ? 'embedded' : 'external')}>
            {`PostgreSQL ${database.version} · ${megabytes}`}
          </Fact>
          <Fact name="Node.js">{node}</Fact>
        </List>
      </Panel>
      <Panel title={t('passed')} description={t('passedText')}>
        <Findings label={t('passed')} findings={findings.filter(({ level }) => level === 'ok')} />
      </Panel>
    </>
  )
}

function Fact({ name, note, children }: { name: string; note?: string | undefined; children: ReactNode }) {
  return (
    <ListRow title={name} text={note}>
      <span className={styles.value}>{children}</span>
    </ListRow>
  )
}

const icons = { ok: CircleCheck, warning: TriangleAlert, error: CircleAlert }

function Findings({ label, findings }: { label: string; findings: readonly Finding[] }) {
  const t = useTranslations('settings.system')
  return (
    <List label={label}>
      {findings.map(({ level, name, message, advice }) => {
        const Icon = icons[level]
        return (
          <ListRow
            key={`${name} ${message}`}
            leading={<Icon size={17} strokeWidth={1.75} className={styles[level]} aria-hidden />}
            title={
              <span className={styles.finding}>
                <span className="visually-hidden">{t(level)}: </span>
                <span className={styles.name}>{name}</span>
                <span className={styles.message}>{message}</span>
              </span>
            }
            text={advice ?? undefined}
          />
        )
      })}
    </List>
  )
}
