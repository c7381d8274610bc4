import { useTranslations } from 'use-intl'
import { change } from '../../access/act.ts'
import { editOf, sendEdit } from '../../api/edit.ts'
import { ApiError } from '../../api/error.ts'
import { usePostOnce } from '../../api/post-once.ts'
import { useSchema } from '../../api/schema.ts'
import { useSeen } from '../../api/use-seen.ts'
import { useDraft } from '../../preferences/drafts.ts'
import { Failure } from '../../ui/empty-state.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { PageContent, Panel } from '../../ui/page.tsx'
import { Loading, NotFound } from '../../ui/states.tsx'
import { notify } from '../../ui/toast.tsx'
import { SectionBar } from '../section-bar.tsx'
import settings from '../settings.module.css'
import { type Condition, conditionOf, RecordCondition, selectionOf } from './condition.tsx'
import { nameOf, path, section, type Webhook, type WebhookWithSecret } from './data.ts'
import { EventPicker } from './event-picker.tsx'
import { onlyResourceOf, scopesAfter } from './event-types.ts'
import { HeaderFields, useHeaders } from './header-fields.tsx'
import { FixedScopes, WebhookScopes } from './webhook-scopes.tsx'
import { useWebhook } from './use-webhook.ts'

interface NewWebhookProps {
  onCreated(webhook: WebhookWithSecret): void
  onClose(): void
}

/** The form of a new webhook. */
export function NewWebhook(form: NewWebhookProps) {
  const t = useTranslations('settings.webhooks')
  return (
    <>
      <SectionBar title={t('createTitle')} parent={{ section, title: t('title') }} />
      <PageContent isNarrow>
        <WebhookForm webhook={undefined} {...form} />
      </PageContent>
    </>
  )
}

/** The form of the webhook in the URL. */
export function EditWebhook({ webhookId, onClose }: { webhookId: string; onClose(): void }) {
  const t = useTranslations('settings.webhooks')
  const { data, error, refetch } = useWebhook(webhookId)
  if (error instanceof ApiError && error.status === 404) return <NotFound />
  const parent = { section, title: data ? nameOf(data) : t('webhook'), search: { webhook: webhookId } }
  return (
    <>
      <SectionBar title={data ? t('editNamed', { name: nameOf(data) }) : t('webhook')} parent={parent} />
      <PageContent isNarrow>
        {error && !data && <Failure error={error} onRetry={() => void refetch()} />}
        {data ? <WebhookForm webhook={data} onClose={onClose} /> : !error && <Loading />}
      </PageContent>
    </>
  )
}

interface WebhookFormProps {
  webhook: Webhook | undefined
  onCreated?(webhook: WebhookWithSecret): void
  onClose(): void
}

function WebhookForm({ webhook, onCreated, onClose }: WebhookFormProps) {
  const t = useTranslations('settings.webhooks')
  const common = useTranslations('common')
  const schema = useSchema()
  const post = usePostOnce()
  const seen = useSeen(webhook)
  const draft = `webhook ${webhook?.id ?? 'new'}`
  const [events, setEvents, isRestored] = useDraft<readonly string[]>(`${draft} events`, () => seen?.events ?? [])
  const [scopes, setScopes] = useDraft<readonly string[]>(`${draft} scopes`, () => seen?.scopes ?? [])
  const [condition, setCondition] = useDraft<Condition>(`${draft} condition`, () => conditionOf(seen, schema))
  const headers = useHeaders(seen?.headerNames ?? [])
  const resource = onlyResourceOf(events, schema)
  const choose = (next: readonly string[]) => {
    if (!seen) setScopes(scopesAfter(scopes, [events, next], schema))
    setEvents(next)
  }
  const submit = async ({ url = '', description, ordered }: FormValues) => {
    const own = { url, description: description ?? null, ordered: ordered !== undefined, events }
    const body = { ...own, ...selectionOf(condition, resource), ...(headers.sent && { headers: headers.sent }) }
    if (seen) {
      await change(['webhooks'], () => sendEdit({ ...editOf('webhooks', seen), values: body }))
      notify(t('saved', { name: nameOf(own) }))
      onClose()
    } else {
      const created = await change(['webhooks'], () => post<WebhookWithSecret>(path, { ...body, scopes }))
      onCreated?.(created.body)
    }
  }
  return (
    <Form
      draft={draft}
      submitLabel={seen ? common('save') : t('create')}
      onCancel={onClose}
      onSubmit={submit}
      isRestored={isRestored}
      isGuarded
    >
      {(errorOf) => (
        <>
          <Receiver webhook={seen} errorOf={errorOf} />
          <EventPicker events={events} error={errorOf('events')} onChange={choose} />
          <RecordCondition resource={resource} condition={condition} errorOf={errorOf} onChange={setCondition} />
          {seen ? (
            <FixedScopes scopes={seen.scopes} error={errorOf('scopes')} />
          ) : (
            <WebhookScopes scopes={scopes} error={errorOf('scopes')} onChange={setScopes} />
          )}
          <Panel title={t('sending')}>
            <CheckField
              name="ordered"
              label={t('orderedLabel')}
              hint={t('orderedHint')}
              defaultChecked={seen?.ordered ?? false}
            />
            <HeaderFields headers={headers} error={errorOf('headers')} />
          </Panel>
        </>
      )}
    </Form>
  )
}

interface ReceiverProps {
  webhook: Webhook | undefined
  errorOf(field: string): string | undefined
}

function Receiver({ webhook, errorOf }: ReceiverProps) {
  const t = useTranslations('settings.webhooks')
  return (
    <Panel title={t('webhook')}>
      <div className={settings.stack}>
        <TextField
          type="url"
          name="url"
          label={t('url')}
          hint={t('urlHint')}
          placeholder="https://example.com/hooks"
          defaultValue={webhook?.url}
          error={errorOf('url')}
          autoComplete="off"
        />
        <TextField
          name="description"
          label={t('description')}
          hint={t('descriptionHint')}
          isOptional
          defaultValue={webhook?.description ?? ''}
          error={errorOf('description')}
          autoComplete="off"
        />
      </div>
    </Panel>
  )
}
