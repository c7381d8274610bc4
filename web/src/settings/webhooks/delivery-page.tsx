import { useQuery } from '@tanstack/react-query'
import { RotateCw } from 'lucide-react'
import { useFormatter, useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { send } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { useMay } from '../../api/permissions.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Failure } from '../../ui/empty-state.tsx'
import { FactList } from '../../ui/fact-list.tsx'
import { List, ListRow, PageContent, Panel } from '../../ui/page.tsx'
import { Loading, NotFound } from '../../ui/states.tsx'
import { Tag } from '../../ui/tag.tsx'
import { Time } from '../../ui/time.tsx'
import { RecordName } from '../../views/record-name.tsx'
import { useSectionSearch } from '../location.ts'
import { SectionBar } from '../section-bar.tsx'
import settings from '../settings.module.css'
import { useAttemptError } from './attempt-errors.ts'
import { deliveriesPath, type DeliveryDetails, intervals, isRunning, nameOf, section } from './data.ts'
import { DeliveryTag } from './deliveries.tsx'
import { filtersOf } from './delivery-filters.tsx'
import { useEventLabel } from './event-types.ts'
import { useWebhook } from './use-webhook.ts'

/** A delivery with its attempts; follows it while it runs. */
export function DeliveryPage({ webhookId, deliveryId }: { webhookId: string; deliveryId: string }) {
  const t = useTranslations('settings.webhooks')
  const labelOf = useEventLabel()
  const filters = filtersOf(useSectionSearch())
  const webhook = useWebhook(webhookId).data
  const { data, error, refetch } = useQuery({
    queryKey: ['webhooks', webhookId, 'deliveries', deliveryId],
    queryFn: async () => (await send<DeliveryDetails>('GET', `${deliveriesPath(webhookId)}/${deliveryId}`)).body,
    refetchInterval: ({ state }) => (state.data && isRunning(state.data) ? intervals.running : intervals.idle),
  })
  if (error instanceof ApiError && error.status === 404) return <NotFound />
  const parent = {
    section,
    title: webhook ? nameOf(webhook) : t('webhook'),
    search: { webhook: webhookId, ...filters },
  }
  return (
    <>
      <SectionBar title={data ? labelOf(data.type) : t('delivery')} parent={parent}>
        {data && <ReplayOne delivery={data} />}
      </SectionBar>
      <PageContent isNarrow>
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {data ? (
          <>
            <Facts delivery={data} />
            <Attempts delivery={data} />
          </>
        ) : (
          !error && <Loading />
        )}
      </PageContent>
    </>
  )
}

/** Sends the event again, unless it still waits. */
function ReplayOne({ delivery: { id, webhookId, status, isTest } }: { delivery: DeliveryDetails }) {
  const t = useTranslations('settings.webhooks')
  const act = useAct()
  const may = useMay()
  if (isTest || status === 'pending' || status === 'delivering' || !may('webhook-delivery:replay:write'))
    return undefined
  const replay = () =>
    act(() => send('POST', `${deliveriesPath(webhookId)}/${id}/replay`), {
      refresh: ['webhooks'],
      done: t('replayedOne'),
    })
  return (
    <Button icon={RotateCw} onClick={() => void replay()}>
      {t('sendAgain')}
    </Button>
  )
}

function Facts({ delivery }: { delivery: DeliveryDetails }) {
  const t = useTranslations('settings.webhooks')
  const errorText = useAttemptError()
  const { status, isTest, type, recordId, eventId, createdAt, nextAttemptAt, error } = delivery
  return (
    <Panel
      title={t('delivery')}
      actions={
        <>
          {isTest && <Tag>{t('isTest')}</Tag>}
          <DeliveryTag status={status} />
        </>
      }
    >
      <FactList
        facts={[
          [t('eventType'), type],
          !isPlaceholder(recordId) && [t('record'), <RecordName key="record" id={recordId} />],
          [t('recordId'), recordId],
          [t('webhookId'), eventId],
          [t('planned'), <Time key="planned" value={createdAt} isFocusable />],
          nextAttemptAt !== null && [t('nextAttempt'), <Time key="next" value={nextAttemptAt} isFocusable />],
          error !== null && [t('lastError'), errorText(error)],
        ]}
      />
    </Panel>
  )
}

/** Is it the id of no record? A test event has it if there is none yet. */
const isPlaceholder = (id: string): boolean => /_0+$/.test(id)

/** Every attempt that is stored, the last one first. */
function Attempts({ delivery: { attempts, attemptCount } }: { delivery: DeliveryDetails }) {
  const t = useTranslations('settings.webhooks')
  const isCut = attemptCount > attempts.length
  return (
    <Panel
      title={t('attempts')}
      description={isCut ? t('attemptsCut', { count: attempts.length, total: attemptCount }) : t('attemptsText')}
    >
      {attempts.length === 0 ? (
        <p className={settings.empty}>{t('noAttempts')}</p>
      ) : (
        <List label={t('attempts')}>
          {attempts
            .map((attempt, index) => (
              <AttemptRow key={attempt.at} attempt={attempt} number={attemptCount - attempts.length + index + 1} />
            ))
            .toReversed()}
        </List>
      )}
    </Panel>
  )
}

function AttemptRow({ attempt, number }: { attempt: DeliveryDetails['attempts'][number]; number: number }) {
  const t = useTranslations('settings.webhooks')
  const format = useFormatter()
  const errorText = useAttemptError()
  const { at, status, milliseconds, answer, error } = attempt
  return (
    <ListRow
      title={
        <span className={settings.name}>
          <span>{t('attempt', { number })}</span>
          <Tag tint={error === null ? 'green' : 'red'} hasDot>
            {status === null ? t('noAnswer') : String(status)}
          </Tag>
        </span>
      }
      text={
        <div className={settings.stack}>
          <span className={settings.facts}>
            <span>{format.dateTime(new Date(at), { dateStyle: 'medium', timeStyle: 'medium' })}</span>
            <span>{t('duration', { milliseconds })}</span>
            {error !== null && <span>{errorText(error)}</span>}
          </span>
          {answer !== null && answer !== '' && <CodeBlock label={t('answer', { number })} text={answer} />}
        </div>
      }
    />
  )
}
