import { useQuery } from '@tanstack/react-query'
import { Link, Navigate, useRouter } from '@tanstack/react-router'
import { useTranslations } from 'use-intl'
import { sendPublic } from '../api/client.ts'
import { ApiError } from '../api/error.ts'
import styles from './access.module.css'
import { Card } from './card.tsx'
import { useEnter } from './enter.ts'
import { InvitationForm, type CheckedDetails } from './invitation.tsx'
import { closeLink, type OpenedLink, useOpenedLink } from './opened-link.ts'
import { ResetPasswordForm, SetUpForm, SignUpForm } from './account-forms.tsx'
import { SecondFactorStep } from './second-factor-step.tsx'
import { BeginSingleSignOn, LinkLogin, SingleSignOnError } from './single-sign-on.tsx'
import { VerifyAddress } from './verify-address.tsx'

/** The page that printed and mailed links open. */
export function AccountLink() {
  const link = useOpenedLink()
  const enter = useEnter()
  const router = useRouter()
  if (!link) return <Navigate to="/" replace />
  if (link.secret === '') return <UnknownLink />
  const restart = () => {
    closeLink()
    router.history.replace('/login')
  }
  switch (link.purpose) {
    case 'second-factor':
      return <SecondFactorStep pendingToken={link.secret} onDone={(tokens) => enter(tokens)} onRestart={restart} />
    case 'sso-begin':
      return <BeginSingleSignOn connectionId={link.secret} />
    case 'sso-link':
      return <LinkLogin token={link.secret} />
    case 'sso-error':
      return <SingleSignOnError code={link.secret} />
    case 'set-up':
    case 'sign-up':
    case 'invitation':
    case 'reset-password':
    case 'verify-address':
      return <CheckedLink key={link.secret} purpose={link.purpose} token={link.secret} />
    default:
      return <UnknownLink />
  }
}

type CheckedPurpose = 'set-up' | 'sign-up' | 'invitation' | 'reset-password' | 'verify-address'

/** Checks the link before the person types anything; for a dead link, says what to do instead. */
function CheckedLink({ purpose, token }: { purpose: CheckedPurpose; token: string }) {
  const t = useTranslations('entrance')
  const check = useQuery({
    queryKey: ['link', purpose, token],
    queryFn: () => checkLink({ purpose, secret: token }),
    retry: false,
    staleTime: Infinity,
    gcTime: 0,
  })
  if (check.isPending) return <Card title={t('checkingTitle')} />
  if (!check.data) return <DeadLink purpose={purpose} />
  switch (purpose) {
    case 'set-up':
      return <SetUpForm token={token} />
    case 'sign-up':
      return <SignUpForm token={token} email={check.data.email} />
    case 'reset-password':
      return <ResetPasswordForm token={token} email={check.data.email} />
    case 'verify-address':
      return <VerifyAddress token={token} email={check.data.email} />
    case 'invitation':
      return <InvitationForm token={token} invitation={check.data} />
  }
}

/** Null for a dead link. Other errors, such as too many requests, appear when the form is sent. */
async function checkLink({ purpose, secret: token }: OpenedLink): Promise<CheckedDetails | null> {
  try {
    return purpose === 'invitation'
      ? await sendPublic<CheckedDetails>('/auth/invitations/preview', { token })
      : await sendPublic<CheckedDetails>('/auth/links/check', { purpose, token })
  } catch (error) {
    const isDead = error instanceof ApiError && error.details.some(({ field }) => field === 'token')
    return isDead ? null : {}
  }
}

function DeadLink({ purpose }: { purpose: CheckedPurpose }) {
  const t = useTranslations('entrance.deadLink')
  return (
    <Card
      title={t('title')}
      lead={`${t('lead')} ${t(purpose)}`}
      footer={
        <>
          {purpose === 'reset-password' && (
            <Link to="/forgot-password" className={styles.textLink}>
              {t('forgot')}
            </Link>
          )}
          {purpose === 'sign-up' && (
            <Link to="/sign-up" className={styles.textLink}>
              {t('signUp')}
            </Link>
          )}
          <Link to="/login" className={styles.textLink}>
            {t('logIn')}
          </Link>
        </>
      }
    />
  )
}

function UnknownLink() {
  const t = useTranslations('entrance.deadLink')
  return (
    <Card
      title={t('unknownTitle')}
      lead={t('unknownLead')}
      footer={
        <Link to="/login" className={styles.textLink}>
          {t('logIn')}
        </Link>
      }
    />
  )
}
