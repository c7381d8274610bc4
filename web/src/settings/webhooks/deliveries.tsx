import { Link } from '@tanstack/react-router'
import { FlaskConical, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/permissions.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/dialog.tsx'
import { ListRow } from '../../ui/page.tsx'
import { Tag } from '../../ui/tag.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toast.tsx'
import { DialogButton } from '../dialog-buttons.tsx'
import { ListPanel } from '../list-panel.tsx'
import { useGoTo, useSectionSearch } from '../location.ts'
import { usePages } from '../paged.tsx'
import settings from '../settings.module.css'
import { useAttemptError } from './attempt-errors.ts'
import { deliveriesPath, type Delivery, deliveryTints, intervals, isRunning, section, type Webhook } from './data.ts'
import { DeliveryFilters, type Filters, filtersOf } from './delivery-filters.tsx'
import { useEventLabel } from './event-types.ts'
import { SendTest } from './send-test.tsx'

/** What was sent to a receiver and what will be, newest first. The URL has the API's filters. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const t = useTranslations('settings.webhooks')
  const goTo = useGoTo()
  const may = useMay()
  const filters = filtersOf(useSectionSearch())
  const path = deliveriesPath(webhook.id)
  const pages = usePages<Delivery>(path, filters, {
    refetchInterval: (records) => (records.some(isRunning) ? intervals.running : intervals.idle),
  })
  if (!may('webhook-delivery:list:read')) return undefined
  const isFiltered = Object.keys(filters).length > 0
  return (
    <ListPanel
      title={t('deliveries')}
      description={t('deliveriesText')}
      path={path}
      query={filters}
      pages={pages}
      empty={t(isFiltered ? 'noDeliveryMatches' : 'noDeliveries')}
      actions={
        <>
          {may('webhook-delivery:replay:write') && <ReplayMatching webhookId={webhook.id} filters={filters} />}
          {may('webhook:test:write') && webhook.status === 'enabled' && (
            <DialogButton icon={FlaskConical} label={t('test')} title={t('testTitle')}>
              {(close) => <SendTest webhook={webhook} onClose={close} />}
            </DialogButton>
          )}
        </>
      }
      head={
        <DeliveryFilters
          webhook={webhook}
          filters={filters}
          onChange={(next) => goTo(section, { webhook: webhook.id, ...next }, { replace: true })}
        />
      }
    >
      {(delivery) => <DeliveryRow delivery={delivery} filters={filters} />}
    </ListPanel>
  )
}

function DeliveryRow({ delivery, filters }: { delivery: Delivery; filters: Filters }) {
  const t = useTranslations('settings.webhooks')
  const labelOf = useEventLabel()
  const errorText = useAttemptError()
  const { id, webhookId, type, recordId, isTest, attemptCount, nextAttemptAt, error, status, createdAt } = delivery
  return (
    <ListRow
      title={
        <span className={settings.name}>
          <Link
            to="/settings/$section"
            params={{ section }}
            search={{ webhook: webhookId, ...filters, delivery: id } as never}
            className={`${settings.nameLink} truncate`}
          >
            {labelOf(type)}
          </Link>
          <DeliveryTag status={status} />
          {isTest && <Tag>{t('isTest')}</Tag>}
        </span>
      }
      text={
        <>
          <span className={settings.facts}>
            <Time value={createdAt} />
            <span>{t('attemptCount', { count: attemptCount })}</span>
            {status === 'retrying' && nextAttemptAt !== null && (
              <span>
                {t('nextAttempt')} <Time value={nextAttemptAt} />
              </span>
            )}
            <span>{recordId}</span>
          </span>
          {error !== null && <p>{errorText(error)}</p>}
        </>
      }
    />
  )
}

export function DeliveryTag({ status }: Pick<Delivery, 'status'>) {
  const t = useTranslations('settings.webhooks')
  return (
    <Tag tint={deliveryTints[status]} hasDot>
      {t(`deliveryStatus.${status}`)}
    </Tag>
  )
}

/** Those that can be sent again; test events cannot. */
const replayable = { 'filter.isTest.equals': 'false', 'filter.status.in': 'delivered,failed,skipped,retrying' }

/** Sends the events that match the filters again, after it has said how many there are. */
function ReplayMatching({ webhookId, filters }: { webhookId: string; filters: Filters }) {
  const t = useTranslations('settings.webhooks')
  const act = useAct()
  const [count, setCount] = useState<number>()
  const replay = async (more: Record<string, string>) => {
    const query = new URLSearchParams({ ...filters, ...replayable, ...more })
    const options = { query, idempotencyKey: crypto.randomUUID() }
    return (await send<{ count: number; hasMore: boolean }>('POST', `${deliveriesPath(webhookId)}/replay`, options))
      .body
  }
  const ask = () =>
    act(
      async () => {
        const found = (await replay({ dryRun: 'true' })).count
        if (found === 0) notify(t('nothingToReplay'))
        else setCount(found)
      },
      { refresh: ['webhooks', webhookId, 'deliveries'] },
    )
  const confirm = () =>
    act(
      async () => {
        let sent = 0
        // One call takes a limited number.
        for (let hasMore = true; hasMore;) {
          const answer = await replay({})
          sent += answer.count
          hasMore = answer.hasMore
        }
        notify(t('replayed', { count: sent }))
      },
      { refresh: ['webhooks'] },
    )
  return (
    <>
      <Button icon={RotateCw} onClick={() => void ask()}>
        {t('sendAgain')}
      </Button>
      <ConfirmDialog
        title={t('replayConfirm', { count: count ?? 0 })}
        description={t('replayText')}
        action={t('sendAgain')}
        isOpen={count !== undefined}
        onClose={() => setCount(undefined)}
        onConfirm={confirm}
      />
    </>
  )
}
