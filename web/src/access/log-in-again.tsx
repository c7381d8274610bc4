import { Building2 } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useTranslations } from 'use-intl'
import { meQuery } from '../api/me.ts'
import { queryClient } from '../api/query-client.ts'
import { continueSession, endPage, endSession, type Tokens } from '../api/session.ts'
import { leavePage, unsavedKinds } from '../preferences/drafts.ts'
import { readPreference } from '../preferences/storage.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { closeToasts } from '../ui/toast.tsx'
import styles from './access.module.css'
import type { CardProps } from './card.tsx'
import { LogInWays, useLogIn } from './log-in.tsx'
import { SecondFactorStep } from './second-factor-step.tsx'
import { beginAt, ConnectionForm } from './single-sign-on.tsx'

/** The dialog in which the person logs in again, by any method. */
export function LogInAgain({ isAction }: { isAction: boolean }) {
  const t = useTranslations('access.login')
  const [isChoosing, setChoosing] = useState(false)
  // Toasts would cover the dialog, and they contain names of records.
  useEffect(closeToasts, [])
  const goOn = (tokens: Tokens) => {
    // A different person starts at their own start page.
    if (!continueSession(tokens)) leavePage('/')
  }
  const { pending, restart, logIn, logInWithPasskey } = useLogIn(goOn)
  const href = `${location.pathname}${location.search}${location.hash}`
  const singleSignOn = () => {
    const connectionId = readPreference('single-sign-on')
    if (connectionId === undefined) setChoosing(true)
    else beginAt(connectionId, href)
  }
  const Frame = isAction ? FrameAfterAction : FrameOnItsOwn
  if (pending) {
    const { pendingToken, factors } = pending
    return <SecondFactorStep {...{ pendingToken, factors, Frame }} onDone={goOn} onRestart={restart} />
  }
  return (
    <FrameOf isAction={isAction}>
      {isChoosing ? (
        <ConnectionForm onChosen={(connectionId) => beginAt(connectionId, href)} onCancel={() => setChoosing(false)} />
      ) : (
        <LogInWays
          email={queryClient.getQueryData(meQuery.queryKey)?.email}
          logIn={logIn}
          logInWithPasskey={logInWithPasskey}
          forgotPassword={
            <a href="/forgot-password" target="_blank" rel="noreferrer" className={styles.textLink}>
              {t('forgot')}
            </a>
          }
          singleSignOn={
            <Button icon={Building2} isWide onClick={singleSignOn}>
              {t('singleSignOn')}
            </Button>
          }
        />
      )}
    </FrameOf>
  )
}

const FrameAfterAction = (props: CardProps) => <StepFrame {...props} isAction />
const FrameOnItsOwn = (props: CardProps) => <StepFrame {...props} isAction={false} />

/** The second step, in the same dialog. */
function StepFrame({ title, lead, children, footer, isAction }: CardProps & { isAction: boolean }) {
  return (
    <FrameOf isAction={isAction}>
      <h3>{title}</h3>
      {lead !== undefined && <p>{lead}</p>}
      {children}
      {footer}
    </FrameOf>
  )
}

function FrameOf({ isAction, children }: { isAction: boolean; children: ReactNode }) {
  const t = useTranslations('access.sessionEnded')
  const [safe] = useState(() => safeThing(isAction))
  const leave = () => {
    endSession()
    endPage('logged-out')
  }
  return (
    <Dialog title={t('title')} description={`${t(safe)} ${t('text')}`} isOpen isForced onClose={() => undefined}>
      <div className={styles.stack}>
        {children}
        <Button kind="quiet" onClick={leave}>
          {t('leave')}
        </Button>
      </div>
    </Dialog>
  )
}

/** What the person could lose. An unanswered change counts as an edit, although its editor is closed. */
function safeThing(isAction: boolean): 'note' | 'form' | 'edit' | 'several' | 'nothing' {
  const [first, ...others] = unsavedKinds()
  if (first === undefined) return isAction ? 'edit' : 'nothing'
  return others.length === 0 ? first : 'several'
}
