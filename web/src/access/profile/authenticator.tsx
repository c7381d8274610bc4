import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api, dataOf, type Schemas } from '../../api/client.ts'
import { Button } from '../../ui/button.tsx'
import { CopyField } from '../../ui/copy-field.tsx'
import { ConfirmDialog, Dialog } from '../../ui/dialog.tsx'
import { Form, type FormValues } from '../../ui/form.tsx'
import { Panel } from '../../ui/page.tsx'
import { Tag } from '../../ui/tag.tsx'
import { Time } from '../../ui/time.tsx'
import { CodeField } from '../code-field.tsx'
import { type RecoveryCodes, useFactors } from './queries.ts'
import styles from './profile.module.css'
import { QrCode } from './qr-code.tsx'
import { RecoveryCodesDialog } from './recovery-codes.tsx'
import { change, useAct } from './use-act.ts'

type Setup = Schemas['TotpEnrolment']

export function AuthenticatorPanel() {
  const t = useTranslations('profile.authenticator')
  const common = useTranslations('common')
  const act = useAct()
  const { totp } = useFactors()
  const [setup, setSetup] = useState<Setup>()
  const [codes, setCodes] = useState<RecoveryCodes>(null)
  const [isRemoving, setRemoving] = useState(false)
  const begin = () => act(async () => setSetup(await dataOf(api.POST('/v5/me/totp'))))
  const button =
    totp === null ? (
      <Button onClick={() => void begin()}>{t('setUp')}</Button>
    ) : (
      <Button onClick={() => setRemoving(true)}>{common('remove')}</Button>
    )
  return (
    <Panel title={t('title')} description={t('text')} actions={button}>
      {totp !== null && (
        <div className={styles.state}>
          <Tag tint="green" hasDot>
            {t('on')}
          </Tag>
          {totp.lastUsedAt !== null && (
            <span>
              {t('lastUsed')} <Time value={totp.lastUsedAt} />
            </span>
          )}
        </div>
      )}
      <Dialog
        title={t('setUpTitle')}
        description={t('setUpText')}
        isOpen={setup !== undefined}
        onClose={() => setSetup(undefined)}
      >
        {setup && (
          <AuthenticatorSetup
            {...setup}
            onDone={(recoveryCodes) => {
              setSetup(undefined)
              setCodes(recoveryCodes)
            }}
          />
        )}
      </Dialog>
      <RecoveryCodesDialog codes={codes} onClose={() => setCodes(null)} />
      <ConfirmDialog
        title={t('removeTitle')}
        description={t('removeText')}
        action={common('remove')}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        onConfirm={() => act(() => api.DELETE('/v5/me/totp'), t('removed'))}
      />
    </Panel>
  )
}

function AuthenticatorSetup({ secret, uri, onDone }: Setup & { onDone(codes: RecoveryCodes): void }) {
  const t = useTranslations('profile.authenticator')
  const confirm = async ({ code = '' }: FormValues) => {
    const { recoveryCodes } = await change(() => dataOf(api.POST('/v5/me/totp/confirm', { body: { code } })))
    onDone(recoveryCodes)
  }
  return (
    <>
      <QrCode content={uri} label={t('qrCode')} />
      <CopyField label={t('secret')} value={secret} />
      <Form submitLabel={t('confirm')} onSubmit={confirm}>
        {(errorOf) => <CodeField label={t('code')} error={errorOf('code')} />}
      </Form>
    </>
  )
}
