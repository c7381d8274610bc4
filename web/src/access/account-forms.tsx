import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslations } from 'use-intl'
import { sendPublic } from '../api/client.ts'
import { forgetAccessToken, type Tokens } from '../api/session.ts'
import { buttonClasses } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { currentLanguage, timeZone } from '../preferences/locale.ts'
import { Form } from '../ui/form.tsx'
import { TimeZoneField } from '../ui/time-zone-field.tsx'
import { Card } from './card.tsx'
import { useEnter } from './enter.ts'
import { NewPasswordField } from './new-password-field.tsx'
import { closeLink } from './opened-link.ts'

/** The person gets the language of the page. */
const createAccount = (path: string, values: object, token: string): Promise<Tokens> =>
  sendPublic<Tokens>(path, { ...values, language: currentLanguage(), token, cookie: true })

/** Creates the first account of the service and its organization. */
export function SetUpForm({ token }: { token: string }) {
  const t = useTranslations('entrance.setUp')
  const enter = useEnter()
  return (
    <Card title={t('title')} lead={t('lead')}>
      <Form
        submitLabel={t('submit')}
        isWide
        onSubmit={async (values) => enter(await createAccount('/auth/set-up', values, token))}
      >
        {(errorOf) => (
          <>
            <EmailField error={errorOf('email')} />
            <PersonFields errors={accountErrors(errorOf)} hasOrganization />
          </>
        )}
      </Form>
    </Card>
  )
}

/** Creates an account whose address has been confirmed by the link. */
export function SignUpForm({ token, email }: { token: string; email: string | null | undefined }) {
  const t = useTranslations('entrance.signUpForm')
  const enter = useEnter()
  const submit = async (values: object) => enter(await createAccount('/auth/sign-up/confirm', values, token))
  return (
    <Card title={t('title')} lead={t('lead')}>
      <Form submitLabel={t('submit')} isWide onSubmit={submit}>
        {(errorOf) => (
          <>
            <AccountOf email={email} />
            <PersonFields errors={accountErrors(errorOf)} hasOrganization email={email} />
          </>
        )}
      </Form>
    </Card>
  )
}

/** Sets a new password after "forgot password". This ends all sessions and starts none. */
export function ResetPasswordForm({ token, email }: { token: string; email: string | null | undefined }) {
  const t = useTranslations('entrance.resetPassword')
  const [isDone, setDone] = useState(false)
  if (isDone) {
    return (
      <Card key="done" title={t('doneTitle')} lead={t('doneLead')}>
        <Link to="/login" className={buttonClasses('primary', true)} onClick={closeLink}>
          {t('logIn')}
        </Link>
      </Card>
    )
  }
  const submit = async (values: object) => {
    await sendPublic('/auth/reset-password', { ...values, token })
    forgetAccessToken()
    setDone(true)
  }
  return (
    <Card title={t('title')} lead={t('lead')}>
      <Form submitLabel={t('submit')} isWide onSubmit={submit}>
        {(errorOf) => (
          <>
            <AccountOf email={email} />
            <NewPasswordField
              name="password"
              label={t('password')}
              error={errorOf('password')}
              email={email ?? undefined}
            />
          </>
        )}
      </Form>
    </Card>
  )
}

function EmailField({ error }: { error: string | undefined }) {
  const t = useTranslations('entrance')
  return <TextField name="email" type="email" label={t('email')} error={error} autoComplete="username" />
}

/** The email address that the link belongs to; password managers store the password under it. */
export function AccountOf({ email }: { email: string | null | undefined }) {
  const t = useTranslations('entrance')
  return email ? <TextField type="email" label={t('email')} value={email} readOnly autoComplete="username" /> : null
}

/**
 * The errors of the inputs in `PersonFields`. The form subscribes to them here, so that it does not repeat them itself.
 */
export const accountErrors = (errorOf: (field: string) => string | undefined) => ({
  name: errorOf('name'),
  organization: errorOf('organization'),
  timeZone: errorOf('timeZone'),
  password: errorOf('password'),
})

interface PersonFieldsProps {
  errors: ReturnType<typeof accountErrors>
  hasOrganization?: boolean
  email?: string | null | undefined
}

/** Name, organization and password of a new account. */
export function PersonFields({ errors, hasOrganization, email }: PersonFieldsProps) {
  const t = useTranslations('entrance')
  return (
    <>
      <TextField name="name" label={t('yourName')} error={errors.name} autoComplete="name" autoCapitalize="words" />
      {hasOrganization && (
        <TextField
          name="organization"
          label={t('organization')}
          error={errors.organization}
          autoComplete="organization"
          autoCapitalize="words"
        />
      )}
      <NewPasswordField name="password" label={t('password')} error={errors.password} email={email ?? undefined} />
      {hasOrganization && (
        <TimeZoneField
          label={t('timeZone')}
          hint={t('timeZoneHint')}
          name="timeZone"
          current={timeZone}
          error={errors.timeZone}
        />
      )}
    </>
  )
}
