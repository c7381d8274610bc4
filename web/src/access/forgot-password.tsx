import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { sendPublic } from '../api/client.ts'
import { currentLanguage } from '../preferences/locale.ts'
import { buttonClasses } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import styles from './access.module.css'
import { Card } from './card.tsx'
import { loginSettingsQuery } from './login-settings.ts'

/** Requests a mail with a link to set a new password. */
export const ForgotPassword = () => <MailedLink path="/auth/forgot-password" kind="forgotPassword" />

/** Requests a mail with a link to create an account, if the service is open for registration. */
export function SignUp() {
  const t = useTranslations('entrance.signUp')
  const settings = useQuery(loginSettingsQuery)
  if (settings.isPending) return <Card title={t('title')} />
  if (settings.data?.signUp === 'open' || settings.isError) return <MailedLink path="/auth/sign-up" kind="signUp" />
  return (
    <Card title={t('closedTitle')} lead={t('closedLead')}>
      <Link to="/login" className={buttonClasses('default', true)}>
        {t('logIn')}
      </Link>
    </Card>
  )
}

/** The answer is the same whether or not the address has an account. */
function MailedLink({ path, kind }: { path: string; kind: 'forgotPassword' | 'signUp' }) {
  const t = useTranslations(`entrance.${kind}`)
  const [address, setAddress] = useState<string>()
  const logIn = (
    <Link to="/login" className={styles.textLink}>
      {t('logIn')}
    </Link>
  )
  if (address !== undefined) {
    return <Card key="done" title={t('doneTitle')} lead={t('doneLead', { address })} footer={logIn} />
  }
  const submit = async ({ email = '', ...rest }: Readonly<Record<string, string>>) => {
    const address = email === '' ? rest : { email: email.trim() }
    await sendPublic(path, { ...address, language: currentLanguage() })
    setAddress(email.trim())
  }
  return (
    <Card title={t('title')} lead={t('lead')} footer={logIn}>
      <Form submitLabel={t('submit')} isWide onSubmit={submit}>
        {(errorOf) => (
          <TextField name="email" type="email" label={t('email')} error={errorOf('email')} autoComplete="username" />
        )}
      </Form>
    </Card>
  )
}
