import { type ReactNode, useEffect, useRef } from 'react'
import { useFormatter, useTranslations } from 'use-intl'
import { ApiError } from '../../api/error.ts'
import { type FilterNode } from '../../api/filter-tree.ts'
import { useMay } from '../../api/permissions.ts'
import { useSchema } from '../../api/schema.ts'
import { Button } from '../../ui/button.tsx'
import { CopyField } from '../../ui/copy-field.tsx'
import { Failure } from '../../ui/empty-state.tsx'
import { FactList } from '../../ui/fact-list.tsx'
import { PageContent, Panel } from '../../ui/page.tsx'
import { Loading, NotFound } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { PartSentence } from '../../views/filter-sentence.tsx'
import { useActors } from '../actors.ts'
import { SectionBar } from '../section-bar.tsx'
import settings from '../settings.module.css'
import { useFieldLabel } from './changed-fields.tsx'
import { nameOf, section, type Webhook, type WebhookWithSecret } from './data.ts'
import { Deliveries } from './deliveries.tsx'
import { onlyResourceOf, useEventLabel } from './event-types.ts'
import { Receivers } from './receivers.tsx'
import { StatusTag } from './status-tag.tsx'
import { useScopeLabel } from './use-scope-label.ts'
import { useWebhook } from './use-webhook.ts'
import { useSetStatus, WebhookActions } from './webhook-actions.tsx'

interface WebhookPageProps {
  webhookId: string
  /** The webhook with its secret, right after that was made. */
  shown: WebhookWithSecret | undefined
  onShow(webhook: WebhookWithSecret | undefined): void
}

/** A webhook: how its receiver fares, what it sends, and its deliveries. */
export function WebhookPage({ webhookId, shown, onShow }: WebhookPageProps) {
  const t = useTranslations('settings.webhooks')
  const { data, error, refetch } = useWebhook(webhookId)
  if (error instanceof ApiError && error.status === 404) return <NotFound />
  return (
    <>
      <SectionBar title={data ? nameOf(data) : t('webhook')} parent={{ section, title: t('title') }}>
        {data && <WebhookActions webhook={data} onRotated={onShow} />}
      </SectionBar>
      <PageContent isNarrow>
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {shown && <NewSecret webhook={shown} onDone={() => onShow(undefined)} />}
        {data ? (
          <>
            {data.status !== 'enabled' && <Stopped webhook={data} />}
            <Facts webhook={data} />
            <Deliveries webhook={data} />
            {!shown && <Receivers />}
          </>
        ) : (
          !error && <Loading />
        )}
      </PageContent>
    </>
  )
}

/** The secret that was just made, and programs that verify with it. */
function NewSecret({ webhook, onDone }: { webhook: WebhookWithSecret; onDone(): void }) {
  const t = useTranslations('settings.webhooks')
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => element.current?.focus(), [webhook])
  return (
    <div ref={element} tabIndex={-1} className={settings.stack}>
      <Panel title={t('secretTitle')} description={t('secretText')}>
        <CopyField label={t('secret')} value={webhook.secret} />
        <div className={settings.buttons}>
          <Button onClick={onDone}>{t('secretStored')}</Button>
        </div>
      </Panel>
      <Receivers />
    </div>
  )
}

/** Why nothing is sent, and what to do. */
function Stopped({ webhook }: { webhook: Webhook }) {
  const t = useTranslations('settings.webhooks')
  const may = useMay()
  const setStatus = useSetStatus(webhook)
  const { status, statusReason } = webhook
  return (
    <Panel title={t(`stopped.${status === 'paused' ? 'paused' : 'disabled'}`)}>
      <p role="status">{t(`reasons.${statusReason ?? 'paused'}`)}</p>
      {may('webhook:update:write') && (
        <div className={settings.buttons}>
          <Button kind="primary" onClick={() => void setStatus('enabled')}>
            {t(status === 'paused' ? 'resume' : 'enable')}
          </Button>
        </div>
      )}
    </Panel>
  )
}

function Facts({ webhook }: { webhook: Webhook }) {
  const t = useTranslations('settings.webhooks')
  const common = useTranslations('common')
  const format = useFormatter()
  const schema = useSchema()
  const labelOf = useEventLabel()
  const fieldLabel = useFieldLabel()
  const scopeLabel = useScopeLabel()
  const creator = useActors([webhook.createdBy])[webhook.createdBy]
  const { url, events, filter, changedFields, ordered, scopes, headerNames, health } = webhook
  const resource = onlyResourceOf(events, schema)
  const list = (items: readonly ReactNode[]) => (
    <ul>
      {items.map((item) => (
        <li key={String(item)}>{item}</li>
      ))}
    </ul>
  )
  return (
    <Panel title={t('settings')} actions={<StatusTag webhook={webhook} />}>
      <FactList
        facts={[
          [t('url'), url],
          [
            t('lastSuccess'),
            health.lastSuccessAt === null ? (
              t('never')
            ) : (
              <Time key="success" value={health.lastSuccessAt} isFocusable />
            ),
          ],
          health.failingSince !== null && [
            t('failingSince'),
            <span key="since" className={settings.facts}>
              <Time value={health.failingSince} isFocusable />
              <span>{t('failures', { count: health.consecutiveFailures })}</span>
            </span>,
          ],
          [t('events'), list(events.map(labelOf))],
          resource &&
            Object.keys(filter).length > 0 && [
              t('condition'),
              <PartSentence key="filter" resource={resource} part={filter as FilterNode} />,
            ],
          resource &&
            changedFields.length > 0 && [
              t('changedFields'),
              format.list(changedFields.map((name) => fieldLabel(resource, name))),
            ],
          [t('scopes'), list(scopes.map(scopeLabel))],
          [t('ordered'), common(ordered ? 'yes' : 'no')],
          headerNames.length > 0 && [t('headers'), headerNames.join(', ')],
          [t('createdBy'), creator ?? t('formerMember')],
        ]}
      />
    </Panel>
  )
}
