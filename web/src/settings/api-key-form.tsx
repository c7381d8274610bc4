import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { change } from '../access/act.ts'
import { send } from '../api/client.ts'
import { editOf, sendEdit } from '../api/edit.ts'
import { ApiError } from '../api/error.ts'
import { usePostOnce } from '../api/post-once.ts'
import { useSeen } from '../api/use-seen.ts'
import { useDraft } from '../preferences/drafts.ts'
import { Loading, NotFound } from '../ui/states.tsx'
import { Failure } from '../ui/empty-state.tsx'
import { TextAreaField, TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { PageContent, Panel } from '../ui/page.tsx'
import { notify } from '../ui/toast.tsx'
import { endOfDay, toDateInput } from './dates.ts'
import type { ApiKey, ApiKeyWithText } from './records.ts'
import { ScopePicker, scopeText } from './scope-picker.tsx'
import { SectionBar } from './section-bar.tsx'
import styles from './settings.module.css'

interface ApiKeyPageProps {
  /** Undefined to create a key. */
  apiKeyId: string | undefined
  onCreated(key: ApiKeyWithText): void
  onClose(): void
}

/** Creates a key, or changes the key in the URL. */
export function ApiKeyPage({ apiKeyId, onCreated, onClose }: ApiKeyPageProps) {
  const t = useTranslations('settings.apiKeys')
  const key = useQuery({
    queryKey: ['api-keys', apiKeyId],
    queryFn: async () => (await send<ApiKey>('GET', `/v5/api-keys/${apiKeyId}`)).body,
    enabled: apiKeyId !== undefined,
  })
  if (key.error instanceof ApiError && key.error.status === 404) return <NotFound />
  const isReady = apiKeyId === undefined || key.data !== undefined
  return (
    <>
      <SectionBar
        title={apiKeyId === undefined ? t('createTitle') : (key.data?.name ?? t('title'))}
        parent={{ section: 'api-keys', title: t('title') }}
      />
      <PageContent isNarrow>
        {key.error && <Failure error={key.error} onRetry={() => void key.refetch()} />}
        {isReady ? (
          <ApiKeyForm key={apiKeyId} apiKey={key.data} onCreated={onCreated} onClose={onClose} />
        ) : (
          <Loading />
        )}
      </PageContent>
    </>
  )
}

interface ApiKeyFormProps {
  apiKey: ApiKey | undefined
  onCreated(key: ApiKeyWithText): void
  onClose(): void
}

const presets = [
  { name: 'readAll', scopes: ['*:*:read'] },
  { name: 'writeAll', scopes: ['*:*:read', '*:*:write'] },
  { name: 'push', scopes: ['contact:create:write', 'company:create:write'] },
] as const

function ApiKeyForm({ apiKey, onCreated, onClose }: ApiKeyFormProps) {
  const t = useTranslations('settings.apiKeys')
  const scopeTexts = useTranslations('settings.scopes')
  const common = useTranslations('common')
  const draft = `key ${apiKey?.id ?? 'new'}`
  const [scopes, setScopes] = useDraft<readonly string[]>(`${draft} scopes`, () => apiKey?.scopes ?? [])
  const post = usePostOnce()
  const seen = useSeen(apiKey)
  const submit = async (values: FormValues) => {
    const body = bodyOf(values, scopes)
    if (seen) {
      await change(['api-keys'], () => sendEdit({ ...editOf('api-keys', seen), values: body }))
      notify(t('saved', { name: body.name }))
      onClose()
    } else {
      onCreated((await change(['api-keys'], () => post<ApiKeyWithText>('/v5/api-keys', body))).body)
    }
  }
  return (
    <Form draft={draft} submitLabel={apiKey ? common('save') : t('create')} onCancel={onClose} onSubmit={submit}>
      {(errorOf) => (
        <>
          <Panel title={t('key')}>
            <div className={styles.columns}>
              <TextField
                name="name"
                label={t('name')}
                hint={t('nameHint')}
                defaultValue={apiKey?.name}
                error={errorOf('name')}
                autoComplete="off"
              />
              <TextField
                type="date"
                name="expiresAt"
                label={t('expiry')}
                hint={t('expiryHint')}
                isOptional
                defaultValue={toDateInput(apiKey?.expiresAt)}
                error={errorOf('expiresAt')}
              />
            </div>
            <TextAreaField
              name="allowedAddresses"
              label={t('addresses')}
              hint={t('addressesHint')}
              isOptional
              rows={2}
              defaultValue={apiKey?.allowedAddresses.join('\n')}
              error={errorOf('allowedAddresses')}
            />
          </Panel>
          <ScopePicker
            text={scopeTexts('text')}
            presets={presets.map(({ name, scopes: included }) => ({
              label: scopeTexts(name),
              scopes: included.map(scopeText),
            }))}
            scopes={scopes}
            error={errorOf('scopes')}
            onChange={setScopes}
          />
        </>
      )}
    </Form>
  )
}

const bodyOf = (values: FormValues, scopes: readonly string[]) => ({
  name: values.name ?? '',
  scopes,
  expiresAt: endOfDay(values.expiresAt) ?? null,
  allowedAddresses: (values.allowedAddresses ?? '').split(/[\s,]+/).filter(Boolean),
})
