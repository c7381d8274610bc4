import { lazyRouteComponent } from '@tanstack/react-router'
import { Suspense, useSyncExternalStore } from 'react'
import { useTranslations } from 'use-intl'
import { ApiError } from '../api/error.ts'
import { Dialog } from '../ui/dialog.tsx'

const Proof = lazyRouteComponent(() => import('./proof.tsx'), 'Proof')

interface Question {
  /** Called when the person has answered or closed the dialog. */
  answer: Promise<void>
  confirm(): void
  decline(error: ApiError): void
}

let question: Question | undefined
const listeners = new Set<() => void>()

/**
 * Runs a sensitive action. If the service demands recent authentication, asks the person to prove who they are and runs
 * the action again. Rejects with an `ApiError` if they close the dialog, so forms need no special case.
 */
export async function withRecentAuthentication<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'reauthentication_required')) throw error
    await (question ?? setQuestion(createQuestion())).answer
    return action()
  }
}

function createQuestion(): Question {
  let [confirm, decline]: [() => void, (error: ApiError) => void] = [() => undefined, () => undefined]
  const promise = new Promise<void>((resolve, reject) => {
    confirm = resolve
    decline = reject
  })
  return { answer: promise.finally(() => setQuestion(undefined)), confirm, decline }
}

function setQuestion<Next extends Question | undefined>(next: Next): Next {
  question = next
  for (const listener of listeners) listener()
  return next
}

/** The dialog of `withRecentAuthentication`; rendered once in the application. */
export function Reauthentication() {
  const t = useTranslations('access.reauthenticate')
  const open = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => question,
  )
  const close = () => {
    const refusal = { code: 'reauthentication_required', message: t('title'), description: t('declined') }
    open?.decline(new ApiError(403, refusal, undefined))
  }
  return (
    <Dialog title={t('title')} description={t('text')} isOpen={open !== undefined} onClose={close}>
      <Suspense>{open && <Proof onDone={open.confirm} />}</Suspense>
    </Dialog>
  )
}
