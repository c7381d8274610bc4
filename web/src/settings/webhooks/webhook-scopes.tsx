import { useTranslations } from 'use-intl'
import { ErrorText } from '../../ui/error-text.tsx'
import { Panel } from '../../ui/page.tsx'
import { refusalText } from '../../messages/refusals.ts'
import { ScopePicker, scopeText } from '../scope-picker.tsx'
import settings from '../settings.module.css'
import { scopeOf, useFollowable } from './event-types.ts'
import { useScopeLabel } from './use-scope-label.ts'

interface WebhookScopesProps {
  scopes: readonly string[]
  error: string | undefined
  onChange(scopes: readonly string[]): void
}

/** What a new webhook may read. A webhook changes nothing, and only lists show events. */
export function WebhookScopes({ scopes, error, onChange }: WebhookScopesProps) {
  const t = useTranslations('settings.webhooks')
  const common = useTranslations('settings.scopes')
  const lists = useFollowable().map(scopeOf)
  return (
    <ScopePicker
      text={t('scopesText')}
      presets={[
        { label: t('allRecords'), scopes: lists },
        { label: common('readAll'), scopes: [scopeText('*:*:read')] },
      ]}
      isOffered={({ action, permission }) => permission === 'read' && (action === 'list' || action === '*')}
      scopes={scopes}
      error={error}
      onChange={onChange}
    />
  )
}

/** What a webhook may read, which never changes. */
export function FixedScopes({ scopes, error }: Pick<WebhookScopesProps, 'scopes' | 'error'>) {
  const t = useTranslations('settings.webhooks')
  const labelOf = useScopeLabel()
  return (
    <Panel title={t('scopes')} description={t('scopesFixed')}>
      <ul>
        {scopes.map((scope) => (
          <li key={scope}>{labelOf(scope)}</li>
        ))}
      </ul>
      {error !== undefined && (
        <p role="alert" className={settings.danger}>
          <ErrorText text={refusalText(error)} />
        </p>
      )}
    </Panel>
  )
}
