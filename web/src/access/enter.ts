import { useRouter } from '@tanstack/react-router'
import { forgetAll } from '../api/query-client.ts'
import { beginSession, type Tokens } from '../api/session.ts'
import { takeReturnPath } from '../preferences/storage.ts'
import { closeLink } from './opened-link.ts'

/**
 * The page to continue with after a log-in, from the URL of the log-in page. Accepts only paths of this application, so
 * that a link to the log-in page cannot lead to another site.
 */
export function nextPath(search: string): string {
  const next = new URLSearchParams(search).get('next') ?? '/'
  if (!next.startsWith('/') || !URL.canParse(next, location.origin)) return '/'
  const url = new URL(next, location.origin)
  if (url.origin !== location.origin || /^\/(?:login|logout|auth|v\d+)(?:\/|$)/.test(url.pathname)) return '/'
  return `${url.pathname}${url.search}${url.hash}`
}

/** Uses the session that a log-in returned, and opens a page of the application. */
export function useEnter(): (tokens: Tokens, path?: string) => void {
  const router = useRouter()
  return (tokens, path = '/') => {
    beginSession(tokens)
    forgetAll()
    if (path !== '/account') closeLink()
    // After a log-in with several steps, return to the page where it started, unless somebody else has logged in.
    const begun = takeReturnPath()
    // The Back button must not return to the form.
    router.history.replace(path === '/' ? (begun ?? '/') : path)
  }
}
