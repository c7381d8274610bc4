import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useRouter } from '@tanstack/react-router'
import { Building2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslations } from 'use-intl'
import { type Schemas, sendPublic } from '../api/client.ts'
import { accessToken, type Tokens } from '../api/session.ts'
import { buttonClasses } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { Form, type FormValues } from '../ui/form.tsx'
import styles from './access.module.css'
import { Card, Divider } from './card.tsx'
import { loginSettingsQuery } from './login-settings.ts'
import { nextPath, useEnter } from './enter.ts'
import { PasskeyButton } from './passkey-button.tsx'
import { askForPasskey } from './passkeys.ts'
import { SecondFactorStep } from './second-factor-step.tsx'

type Answer = Schemas['LoginStep']
type Pending = Extract<Answer, { status: 'second_factor_required' }>

/** Log in by password or passkey; a person who is logged in continues at once. */
export function Login() {
  const router = useRouter()
  const { searchStr } = useLocation()
  // As it was at first: the URL changes when the log-in succeeds, before this page has gone.
  const [next] = useState(() => nextPath(searchStr))
  const enter = useEnter()
  const [pending, setPending] = useState<Pending>()
  useEffect(() => {
    let isGone = false
    const leaveIfLoggedIn = async () => {
      // If the service cannot be reached, sending the form says so.
      const token = await accessToken().catch(() => undefined)
      if (token !== undefined && !isGone) router.history.replace(next)
    }
    void leaveIfLoggedIn()
    return () => {
      isGone = true
    }
  }, [router, next])
  if (pending) {
    return (
      <SecondFactorStep
        pendingToken={pending.pendingToken}
        factors={pending.factors}
        onDone={(tokens) => enter(tokens, next)}
        onRestart={() => setPending(undefined)}
      />
    )
  }
  const logIn = async (values: FormValues) => {
    const answer = await sendPublic<Answer>('/auth/login', { ...values, cookie: true })
    if (answer.status === 'complete') enter(answer, next)
    else setPending(answer)
  }
  const logInWithPasskey = async () => {
    const options = await sendPublic<PublicKeyCredentialRequestOptionsJSON>('/auth/passkeys/options')
    const credential = await askForPasskey(options)
    enter(await sendPublic<Tokens>('/auth/passkeys', { credential, cookie: true }), next)
  }
  return <LogInCard logIn={logIn} logInWithPasskey={logInWithPasskey} />
}

interface LogInCardProps {
  logIn(values: FormValues): Promise<void>
  logInWithPasskey(): Promise<void>
}

function LogInCard({ logIn, logInWithPasskey }: LogInCardProps) {
  const t = useTranslations('access.login')
  const { data: settings } = useQuery(loginSettingsQuery)
  return (
    <Card
      title={t('title')}
      footer={
        settings?.signUp === 'open' && (
          <p>
            {t('noAccount')}{' '}
            <Link to="/sign-up" className={styles.textLink}>
              {t('signUp')}
            </Link>
          </p>
        )
      }
    >
      <Form submitLabel={t('submit')} isWide onSubmit={logIn}>
        {(errorOf) => (
          <>
            <TextField name="email" type="email" label={t('email')} error={errorOf('email')} autoComplete="username" />
            <PasswordField
              name="password"
              label={t('password')}
              error={errorOf('password')}
              autoComplete="current-password"
            />
          </>
        )}
      </Form>
      <Link to="/forgot-password" className={styles.textLink}>
        {t('forgot')}
      </Link>
      <Divider>{t('or')}</Divider>
      <div className={styles.stack}>
        <PasskeyButton label={t('passkey')} run={logInWithPasskey} />
        <Link to="/single-sign-on" className={buttonClasses('default', true)}>
          <Building2 size={15} strokeWidth={1.75} aria-hidden />
          {t('singleSignOn')}
        </Link>
      </div>
    </Card>
  )
}
