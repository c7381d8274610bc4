import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api } from '../api/client.ts'
import { accessToken } from '../api/session.ts'
import { leavePage } from '../preferences/drafts.ts'
import { readPreference, storePreference, storeReturnPath } from '../preferences/storage.ts'
import { TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import { notify } from '../ui/toast.tsx'
import styles from './access.module.css'
import { Card } from './card.tsx'
import { LogInFirst } from './log-in-first.tsx'
import { closeLink } from './opened-link.ts'
import { connectionIdOf } from './connection-id.ts'

/**
 * Starts the log-in at a provider with a request from the browser, so that the service can tie the log-in to this
 * browser. `returnTo`: the page to continue with.
 */
export function beginAt(connectionId: string, returnTo?: string): void {
  storePreference('single-sign-on', connectionId)
  if (returnTo !== undefined) storeReturnPath(returnTo)
  const query = returnTo !== undefined && returnTo.length <= maxReturnLength ? { returnTo } : {}
  const parameters = new URLSearchParams(query)
  leavePage(`/auth/sso/${encodeURIComponent(connectionId)}${parameters.size > 0 ? `?${parameters}` : ''}`)
}

/** The maximum length that the service accepts. */
const maxReturnLength = 2000

/**
 * Starts the log-in at an organization's provider. The service never reveals a provider by email address, so the person
 * needs their organization's link; this browser remembers it.
 */
export function SingleSignOn() {
  const t = useTranslations('access.singleSignOn')
  return (
    <Card title={t('title')} lead={t('lead')} footer={<ToLogIn />}>
      <ConnectionForm onChosen={(connectionId) => beginAt(connectionId)} />
    </Card>
  )
}

/** Asks for the organization's link. */
export function ConnectionForm({ onChosen, onCancel }: { onChosen(connectionId: string): void; onCancel?(): void }) {
  const t = useTranslations('access.singleSignOn')
  const begin = async ({ link = '' }: FormValues) => onChosen(connectionIdOf(link, t('invalid')))
  return (
    <Form submitLabel={t('submit')} isWide onSubmit={begin} {...(onCancel && { onCancel })}>
      {(errorOf) => (
        <TextField
          name="link"
          label={t('link')}
          hint={t('linkHint')}
          error={errorOf('link')}
          defaultValue={readPreference('single-sign-on')}
          autoCapitalize="none"
        />
      )}
    </Form>
  )
}

/** Another site sent the person here; the log-in must start on this one. */
export function BeginSingleSignOn({ connectionId }: { connectionId: string }) {
  const t = useTranslations('access.singleSignOn')
  return (
    <Card title={t('title')} lead={t('fromElsewhere')} footer={<ToLogIn />}>
      <Form submitLabel={t('submit')} isWide onSubmit={async () => beginAt(connectionId)}>
        {() => null}
      </Form>
    </Card>
  )
}

/** Finishes linking the account to an identity at a provider. */
export function LinkLogin({ token }: { token: string }) {
  const t = useTranslations('access.singleSignOn')
  const router = useRouter()
  const queryClient = useQueryClient()
  const [isLoggedIn, setLoggedIn] = useState(true)
  if (!isLoggedIn) return <LogInFirst title={t('linkTitle')} />
  const finish = async () => {
    if ((await accessToken()) === undefined) return setLoggedIn(false)
    await api.POST('/v5/me/identities/confirm', { body: { token } })
    await queryClient.invalidateQueries({ queryKey: ['me'] })
    notify(t('linked'))
    closeLink()
    router.history.replace('/profile')
  }
  return (
    <Card title={t('linkTitle')} lead={t('linkLead')}>
      <Form submitLabel={t('linkSubmit')} isWide onSubmit={finish}>
        {() => null}
      </Form>
    </Card>
  )
}

const errors = [
  'unavailable',
  'provider',
  'denied',
  'expired',
  'not-linked',
  'not-verified',
  'not-a-member',
  'second-factor-needed',
] as const

/** Why a log-in at a provider failed; the service's log has the details. */
export function SingleSignOnError({ code }: { code: string }) {
  const t = useTranslations('entrance.singleSignOnErrors')
  const known = errors.find((one) => one === code)
  return (
    <Card
      title={t('title')}
      lead={t(known ?? 'unknown')}
      footer={
        <>
          {known === 'not-verified' && (
            <Link to="/forgot-password" className={styles.textLink}>
              {t('forgot')}
            </Link>
          )}
          <ToLogIn />
        </>
      }
    />
  )
}

function ToLogIn() {
  const t = useTranslations('access.singleSignOn')
  return (
    <Link to="/login" className={styles.textLink}>
      {t('logIn')}
    </Link>
  )
}
