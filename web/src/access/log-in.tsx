import { type ReactNode, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Schemas, sendPublic } from '../api/client.ts'
import type { Tokens } from '../api/session.ts'
import { TextField } from '../ui/field.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import styles from './access.module.css'
import { Divider } from './card.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { askForPasskey } from './passkeys.ts'

type Answer = Schemas['LoginStep']
type Pending = Extract<Answer, { status: 'second_factor_required' }>

/** Logs a person in by password or passkey. After a password, the second step can be `pending`. */
export function useLogIn(onDone: (tokens: Tokens) => void) {
  const [pending, setPending] = useState<Pending>()
  const logIn = async (values: FormValues) => {
    const answer = await sendPublic<Answer>('/auth/login', { ...values, cookie: true })
    if (answer.status === 'complete') onDone(answer)
    else setPending(answer)
  }
  const logInWithPasskey = async () => {
    const options = await sendPublic<PublicKeyCredentialRequestOptionsJSON>('/auth/passkeys/options')
    const credential = await askForPasskey(options)
    onDone(await sendPublic<Tokens>('/auth/passkeys', { credential, cookie: true }))
  }
  return { pending, restart: () => setPending(undefined), logIn, logInWithPasskey }
}

export interface LogInWaysProps {
  /** The initial email address. */
  email?: string | undefined
  logIn(values: FormValues): Promise<void>
  logInWithPasskey(): Promise<void>
  /** The page to set a new password. */
  forgotPassword: ReactNode
  singleSignOn: ReactNode
}

/** The ways to log in: password, passkey, single sign-on. */
export function LogInWays({ email, logIn, logInWithPasskey, forgotPassword, singleSignOn }: LogInWaysProps) {
  const t = useTranslations('access.login')
  return (
    <>
      <Form submitLabel={t('submit')} isWide onSubmit={logIn}>
        {(errorOf) => (
          <>
            <TextField
              name="email"
              type="email"
              label={t('email')}
              defaultValue={email}
              error={errorOf('email')}
              autoComplete="username"
            />
            <PasswordField
              name="password"
              label={t('password')}
              error={errorOf('password')}
              autoComplete="current-password"
            />
          </>
        )}
      </Form>
      {forgotPassword}
      <Divider>{t('or')}</Divider>
      <div className={styles.stack}>
        <PasskeyButton label={t('passkey')} run={logInWithPasskey} />
        {singleSignOn}
      </div>
    </>
  )
}
