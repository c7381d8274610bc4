import { ApiError } from './api/error.ts'
import { meQuery } from './api/me.ts'
import { forgetAll, queryClient } from './api/query-client.ts'
import { type EndReason, forgetAccessToken } from './api/session.ts'
import { schemaQuery } from './api/schema.ts'
import { forgetOrganizationDrafts, leavePage } from './preferences/drafts.ts'
import { forgetPerson } from './preferences/storage.ts'
import { router } from './router.tsx'

/** Leaves the page. Nothing of the person may stay on the screen or in the browser, not even an unsaved form. */
export function endPage(reason: EndReason): void {
  const { pathname, href } = router.latestLocation
  forgetAll()
  // The reloaded page belongs to the person who is now logged in, and claims the storage.
  if (reason === 'someone-else') return leavePage(location.href)
  forgetPerson()
  // Several requests may be refused at the same time.
  if (pathname !== '/login') void router.navigate({ to: '/login', search: { next: href }, ignoreBlocker: true })
}

let isChecking = false

/**
 * After the service refused something: refetches the person's permissions, so that the page offers only what is
 * allowed. If the organization refuses the person entirely, leaves the page and clears the organization's data.
 */
export async function checkAccess(): Promise<void> {
  if (isChecking || router.latestLocation.pathname === '/no-organization') return
  isChecking = true
  try {
    await Promise.all([
      queryClient.fetchQuery({ ...meQuery, staleTime: 0 }),
      queryClient.fetchQuery({ ...schemaQuery, staleTime: 0 }),
    ])
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) return
    forgetOrganizationDrafts()
    forgetAccessToken()
    forgetAll()
    await router.navigate({ to: '/no-organization', search: { reason: error.code }, ignoreBlocker: true })
  } finally {
    isChecking = false
  }
}
