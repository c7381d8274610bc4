import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { api, sendPublic } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import { accessToken } from '../api/session.ts'
import { buttonClasses } from '../ui/button.tsx'
import { Form } from '../ui/form.tsx'
import { AccountOf } from './account-forms.tsx'
import { Card } from './card.tsx'
import { LogInFirst } from './log-in-first.tsx'
import { closeLink } from './opened-link.ts'

/** Confirms an email address. Changing the address of an existing account also needs a log-in. */
export function VerifyAddress({ token, email }: { token: string; email: string | null | undefined }) {
  const t = useTranslations('entrance.verifyAddress')
  const queryClient = useQueryClient()
  const [step, setStep] = useState<'confirm' | 'log-in' | 'done'>('confirm')
  const confirm = async () => {
    try {
      await sendPublic('/auth/verify-address', { token })
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'insufficient_permissions')) throw error
      if ((await accessToken()) === undefined) return setStep('log-in')
      await api.POST('/v5/me/address/confirm', { body: { token } })
    }
    await queryClient.invalidateQueries({ queryKey: ['me'] })
    setStep('done')
  }
  if (step === 'done') {
    return (
      <Card key="done" title={t('doneTitle')} lead={email ?? undefined}>
        <Link to="/" className={buttonClasses('primary', true)} onClick={closeLink}>
          {t('continue')}
        </Link>
      </Card>
    )
  }
  if (step === 'log-in') return <LogInFirst title={t('title')} />
  return (
    <Card title={t('title')} lead={t('lead')}>
      <Form submitLabel={t('submit')} isWide onSubmit={confirm}>
        {() => <AccountOf email={email} />}
      </Form>
    </Card>
  )
}
