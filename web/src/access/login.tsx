import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useRouter } from '@tanstack/react-router'
import { Building2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslations } from 'use-intl'
import { accessToken } from '../api/session.ts'
import { buttonClasses } from '../ui/button.tsx'
import styles from './access.module.css'
import { Card } from './card.tsx'
import { loginSettingsQuery } from './login-settings.ts'
import { nextPath, useEnter } from './enter.ts'
import { LogInWays, type LogInWaysProps, useLogIn } from './log-in.tsx'
import { SecondFactorStep } from './second-factor-step.tsx'

/** Logs in by password or passkey; redirects at once if the person is already logged in. */
export function Login() {
  const t = useTranslations('access.login')
  const router = useRouter()
  const { searchStr } = useLocation()
  // The initial value: the URL changes when the log-in succeeds, while this page is still rendered.
  const [next] = useState(() => nextPath(searchStr))
  const enter = useEnter()
  const { pending, restart, logIn, logInWithPasskey } = useLogIn((tokens) => enter(tokens, next))
  useEffect(() => {
    let isGone = false
    const leaveIfLoggedIn = async () => {
      // If the service is unreachable, submitting the form shows that.
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
        onRestart={restart}
      />
    )
  }
  return (
    <LogInCard
      logIn={logIn}
      logInWithPasskey={logInWithPasskey}
      forgotPassword={
        <Link to="/forgot-password" className={styles.textLink}>
          {t('forgot')}
        </Link>
      }
      singleSignOn={
        <Link to="/single-sign-on" className={buttonClasses('default', true)}>
          <Building2 size={15} strokeWidth={1.75} aria-hidden />
          {t('singleSignOn')}
        </Link>
      }
    />
  )
}

function LogInCard(props: LogInWaysProps) {
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
      <LogInWays {...props} />
    </Card>
  )
}
