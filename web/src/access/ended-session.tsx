import { lazyRouteComponent } from '@tanstack/react-router'
import { Suspense, useEffect, useState } from 'react'
import { useEndedSession } from '../api/session-end.ts'

const LogInAgain = lazyRouteComponent(() => import('./log-in-again.tsx'), 'LogInAgain')

/** Milliseconds since the last key press: the dialog must not capture what the person is typing. */
const typingPause = 3000

let typedAt = Number.NEGATIVE_INFINITY
addEventListener('input', () => (typedAt = performance.now()), { capture: true })

/** Asks the person to log in again. The page with all unsaved input stays below. Rendered once in the application. */
export function EndedSession() {
  const ended = useEndedSession()
  const isPause = useTypingPause(ended !== undefined)
  return <Suspense>{ended && (ended.isAction || isPause) && <LogInAgain isAction={ended.isAction} />}</Suspense>
}

function useTypingPause(isWanted: boolean): boolean {
  const [isPause, setPause] = useState(false)
  useEffect(() => {
    if (!isWanted) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const check = () => {
      const left = typedAt + typingPause - performance.now()
      if (left <= 0) setPause(true)
      else timer = setTimeout(check, left)
    }
    check()
    return () => {
      clearTimeout(timer)
      setPause(false)
    }
  }, [isWanted])
  return isPause
}
