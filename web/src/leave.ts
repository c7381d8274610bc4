import { ApiError } from './api/error.ts'
import { meQuery } from './api/me.ts'
import { forgetAll, queryClient } from './api/query-client.ts'
import { type EndReason, forgetAccessToken } from './api/session.ts'
import { schemaQuery } from './api/schema.ts'
import { forgetOrganizationDrafts, leavePage } from './preferences/drafts.ts'
import { forgetPerson } from './preferences/storage.ts'
import { router } from './router.tsx'

/** Nothing of the person stays on the screen or in the browser, not even an unsaved form. */
export function endPage(reason: EndReason): void {
  const { pathname, href } = router.latestLocation
  forgetAll()
  // The page of the person who is logged in now begins anew, and claims the storage.
  if (reason === 'someone-else') return leavePage(location.href)
  forgetPerson()
  // Several requests may be refused at once.
  if (pathname !== '/login') void router.navigate({ to: '/login', search: { next: href }, ignoreBlocker: true })
}

let isChecking = false

/**
 * After the service denied something: reads again what the person may do, so that the page offers only that. If the
 * organization refuses them as a whole, the page is left and nothing of the organization stays in it.
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
