import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { useTranslations } from 'use-intl'
import { api, dataOf, renewSession } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { Failure } from '../ui/empty-state.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { Form } from '../ui/form.tsx'
import styles from './access.module.css'
import { CodeField } from './code-field.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { askForPasskey } from './passkeys.ts'
import { factorsQuery, identitiesQuery } from './profile/queries.ts'

/** Asks for the strongest kind of proof that the account has; the service accepts no weaker one. */
export function Proof({ onDone }: { onDone(): void }) {
  const factors = useQuery(factorsQuery)
  if (factors.error) return <Failure error={factors.error} onRetry={() => void factors.refetch()} />
  if (!factors.data) return null
  return <ProofForms factors={factors.data} onDone={onDone} />
}

interface ProofFormsProps {
  factors: { totp: object | null; passkeys: readonly object[] }
  onDone(): void
}

function ProofForms({ factors: { totp, passkeys }, onDone }: ProofFormsProps) {
  const t = useTranslations('access.reauthenticate')
  const forms = useRef<HTMLDivElement>(null)
  // The dialog opened before the required proof was known.
  useEffect(() => forms.current?.querySelector<HTMLElement>('input, button')?.focus(), [])
  const prove = async (path: string, proof: object) => {
    await renewSession(path, proof)
    // The session has a new id.
    void queryClient.invalidateQueries({ queryKey: ['me'] })
    onDone()
  }
  const usePasskey = async () => {
    const options = await dataOf(api.POST('/v5/me/reauthenticate/passkey/options'))
    const credential = await askForPasskey(options as unknown as PublicKeyCredentialRequestOptionsJSON)
    await prove('/v5/me/reauthenticate/passkey', { credential })
  }
  return (
    <div ref={forms} className={styles.stack}>
      {totp === null && passkeys.length === 0 && <PasswordProof prove={prove} />}
      {totp !== null && (
        <Form submitLabel={t('confirm')} isWide onSubmit={(values) => prove('/v5/me/reauthenticate/totp', values)}>
          {(errorOf) => <CodeField label={t('code')} hint={t('codeHint')} error={errorOf('code')} />}
        </Form>
      )}
      {passkeys.length > 0 && (
        <PasskeyButton label={t('passkey')} kind={totp === null ? 'primary' : 'default'} run={usePasskey} />
      )}
    </div>
  )
}

function PasswordProof({ prove }: { prove(path: string, proof: object): Promise<void> }) {
  const t = useTranslations('access.reauthenticate')
  const identities = useQuery(identitiesQuery)
  return (
    <>
      <Form submitLabel={t('confirm')} isWide onSubmit={(values) => prove('/v5/me/reauthenticate', values)}>
        {(errorOf) => (
          <PasswordField
            name="password"
            label={t('password')}
            error={errorOf('password')}
            autoComplete="current-password"
          />
        )}
      </Form>
      {identities.data?.map(({ id, connectionId, connectionName }) => (
        <a
          key={id}
          className={styles.textLink}
          href={`/auth/sso/${connectionId}?returnTo=${encodeURIComponent(location.pathname)}`}
        >
          {t('logInAgain', { name: connectionName })}
        </a>
      ))}
    </>
  )
}
