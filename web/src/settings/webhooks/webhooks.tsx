import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { useAct } from '../../access/act.ts'
import { send } from '../../api/client.ts'
import { useMay } from '../../api/permissions.ts'
import { Button } from '../../ui/button.tsx'
import { ListRow, PageContent } from '../../ui/page.tsx'
import { Time } from '../../ui/time.tsx'
import { DeletedPanel, ListPanel } from '../list-panel.tsx'
import { useGoTo, useSectionSearch } from '../location.ts'
import { usePages } from '../paged.tsx'
import { PartLink } from '../part-page.tsx'
import { SectionBar } from '../section-bar.tsx'
import settings from '../settings.module.css'
import { intervals, nameOf, path, section, type Webhook, type WebhookWithSecret } from './data.ts'
import { DeliveryPage } from './delivery-page.tsx'
import { useEventLabel } from './event-types.ts'
import { StatusTag } from './status-tag.tsx'
import { EditWebhook, NewWebhook } from './webhook-form.tsx'
import { WebhookPage } from './webhook-page.tsx'

/** The organization's webhooks; `?new=true` creates one, `?webhook=…` shows one, with `&edit=true` its form. */
export function Webhooks() {
  const goTo = useGoTo()
  const { new: isNew, webhook, edit, delivery } = useSectionSearch()
  // In component state only: a secret is gone when the page is left or reloaded.
  const [shown, setShown] = useState<WebhookWithSecret>()
  if (isNew === 'true') {
    const open = (created: WebhookWithSecret) => {
      setShown(created)
      goTo(section, { webhook: created.id })
    }
    return <NewWebhook onCreated={open} onClose={() => goTo(section)} />
  }
  if (webhook === undefined) return <WebhookList />
  const show = () => goTo(section, { webhook })
  if (edit === 'true') return <EditWebhook key={webhook} webhookId={webhook} onClose={show} />
  if (delivery !== undefined) return <DeliveryPage key={delivery} webhookId={webhook} deliveryId={delivery} />
  const own = shown?.id === webhook ? shown : undefined
  return <WebhookPage key={webhook} webhookId={webhook} shown={own} onShow={setShown} />
}

const query = { orderBy: 'createdAt', sort: 'desc' }

function WebhookList() {
  const t = useTranslations('settings.webhooks')
  const may = useMay()
  const goTo = useGoTo()
  const pages = usePages<Webhook>(path, query, { refetchInterval: () => intervals.idle })
  return (
    <>
      <SectionBar title={t('title')}>
        {may('webhook:create:write') && (
          <Button kind="primary" icon={Plus} onClick={() => goTo(section, { new: 'true' })}>
            {t('create')}
          </Button>
        )}
      </SectionBar>
      <PageContent isNarrow>
        <ListPanel
          title={t('all')}
          label={t('title')}
          description={t('text')}
          path={path}
          query={query}
          pages={pages}
          empty={t('empty')}
        >
          {(webhook) => <WebhookRow webhook={webhook} />}
        </ListPanel>
        {/* Not before the list above it, whose webhooks would push it down. */}
        {!pages.isPending && <DeletedWebhooks />}
      </PageContent>
    </>
  )
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const t = useTranslations('settings.webhooks')
  const format = useFormatter()
  const labelOf = useEventLabel()
  const { id, url, description, events } = webhook
  return (
    <ListRow
      title={
        <span className={settings.name}>
          <PartLink section={section} search={{ webhook: id }} name={nameOf(webhook)} />
          <StatusTag webhook={webhook} />
        </span>
      }
      text={
        <>
          {description !== null && <span>{url}</span>}
          <span className={settings.facts}>
            <span>
              {events.length > 3 ? t('eventCount', { count: events.length }) : format.list(events.map(labelOf))}
            </span>
            <Fares webhook={webhook} />
          </span>
        </>
      }
    />
  )
}

/** How the receiver fares. */
function Fares({ webhook: { status, statusReason, health } }: { webhook: Webhook }) {
  const t = useTranslations('settings.webhooks')
  const { failingSince, lastSuccessAt } = health
  return (
    <>
      {status === 'disabled' && statusReason !== null && <span>{t(`reasonShort.${statusReason}`)}</span>}
      {failingSince !== null && (
        <span>
          {t('failingSince')} <Time value={failingSince} />
        </span>
      )}
      {lastSuccessAt === null ? (
        <span>{t('noSuccess')}</span>
      ) : (
        <span>
          {t('lastSuccess')} <Time value={lastSuccessAt} />
        </span>
      )}
    </>
  )
}

function DeletedWebhooks() {
  const t = useTranslations('settings.webhooks')
  const act = useAct()
  const may = useMay()
  const pages = usePages<Webhook>(path, { ...query, deleted: 'true' })
  if (!may('webhook:restore:write')) return undefined
  return (
    <DeletedPanel<Webhook>
      title={t('deletedTitle')}
      description={t('deletedText')}
      pages={pages}
      titleOf={nameOf}
      onRestore={(webhook) =>
        act(() => send('POST', `${path}/${webhook.id}/restore`), {
          refresh: ['webhooks'],
          done: t('restored', { name: nameOf(webhook) }),
        })
      }
    />
  )
}
