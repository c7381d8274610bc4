import { type ComponentType, useState } from 'react'
import { useTranslations } from 'use-intl'
import { sendPublic } from '../api/client.ts'
import type { Tokens } from '../api/session.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import { Card, type CardProps } from './card.tsx'
import { CodeField } from './code-field.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { askForPasskey } from './passkeys.ts'

type Factor = 'totp' | 'passkey' | 'recovery-code'

interface SecondFactorStepProps {
  pendingToken: string
  /** The account's kinds of factors; all kinds if unknown. */
  factors?: readonly Factor[]
  onDone(tokens: Tokens): void
  onRestart(): void
  /** The surrounding component; a page by default. */
  Frame?: ComponentType<CardProps>
}

/** The second step of a log-in: a code, a passkey or a recovery code. */
export function SecondFactorStep({
  pendingToken,
  factors = ['totp', 'passkey', 'recovery-code'],
  onDone,
  onRestart,
  Frame = Card,
}: SecondFactorStepProps) {
  const t = useTranslations('access.secondFactor')
  const [isRecovering, setRecovering] = useState(false)
  const send = async (step: string, proof: object) =>
    onDone(await sendPublic<Tokens>(`/auth/login/${step}`, { pendingToken, ...proof }))
  const sendPasskey = async () => {
    const path = '/auth/login/passkey/options'
    const options = await sendPublic<PublicKeyCredentialRequestOptionsJSON>(path, { pendingToken })
    await send('passkey', { credential: await askForPasskey(options) })
  }
  const hasCodes = factors.includes('totp')
  const footer = (
    <>
      {factors.includes('recovery-code') && (
        <Button kind="quiet" onClick={() => setRecovering(!isRecovering)}>
          {t(isRecovering ? 'useFactor' : 'useRecoveryCode')}
        </Button>
      )}
      <Button kind="quiet" onClick={onRestart}>
        {t('restart')}
      </Button>
    </>
  )
  if (isRecovering) {
    return (
      <Frame key="recovery" title={t('recoveryTitle')} lead={t('recoveryLead')} footer={footer}>
        <Form submitLabel={t('submit')} isWide onSubmit={({ code = '' }) => send('recovery-code', { code })}>
          {(errorOf) => (
            <TextField
              name="code"
              label={t('recoveryCode')}
              error={errorOf('code')}
              autoComplete="off"
              autoCapitalize="none"
            />
          )}
        </Form>
      </Frame>
    )
  }
  return (
    <Frame key="factor" title={t('title')} lead={t(hasCodes ? 'lead' : 'passkeyLead')} footer={footer}>
      {hasCodes && (
        <Form submitLabel={t('submit')} isWide onSubmit={({ code = '' }) => send('totp', { code })}>
          {(errorOf) => <CodeField label={t('code')} error={errorOf('code')} />}
        </Form>
      )}
      {factors.includes('passkey') && (
        <PasskeyButton label={t('passkey')} kind={hasCodes ? 'default' : 'primary'} run={sendPasskey} />
      )}
    </Frame>
  )
}
