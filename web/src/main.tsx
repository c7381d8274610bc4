import '@fontsource-variable/inter/wght.css'
import './ui/base.css'
import './ui/print.css'
import { Tooltip } from '@base-ui/react/tooltip'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { lazyRouteComponent, RouterProvider } from '@tanstack/react-router'
import { StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { IntlProvider } from 'use-intl'
import { EndedSession } from './access/ended-session.tsx'
import { Reauthentication } from './access/reauthenticate.tsx'
import { beforeRefusals, whenDenied } from './api/client.ts'
import { useConflict } from './api/conflict.ts'
import { whenRecovered } from './api/connection.ts'
import { queryClient, whenForgetting } from './api/query-client.ts'
import { whenPageEnds } from './api/session.ts'
import { loadMessages } from './messages/messages.ts'
import { currentLanguage, localeOf, timeZone } from './preferences/locale.ts'
import { router } from './router.tsx'
import { checkAccess, endPage } from './leave.ts'
import { ShortcutProvider } from './ui/shortcuts.tsx'
import { leaveCompositionsAlone } from './ui/composition.ts'
import { RecordNameContext } from './ui/error-text.tsx'
import { keepFocus } from './ui/focus.ts'
import { closeToasts, Toasts } from './ui/toast.tsx'
import { RecordName } from './views/record-name.tsx'

const ConflictDialog = lazyRouteComponent(() => import('./views/conflict-dialog.tsx'), 'ConflictDialog')

/** Loaded on demand. */
const Conflicts = () =>
  useConflict() && (
    <Suspense>
      <ConflictDialog />
    </Suspense>
  )

const language = currentLanguage()
document.documentElement.lang = language

whenPageEnds(endPage)
whenDenied(() => void checkAccess())
whenForgetting(closeToasts)
beforeRefusals(async () => (await import('./messages/refusal-forms.ts')).loadRefusals(language))
leaveCompositionsAlone()
keepFocus()
whenRecovered(() => void queryClient.invalidateQueries({ predicate: ({ state }) => state.status === 'error' }))

const messages = await loadMessages(language)
const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element with the id root.')
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <IntlProvider locale={localeOf(language)} timeZone={timeZone} messages={messages}>
        <QueryClientProvider client={queryClient}>
          <RecordNameContext value={RecordName}>
            <ShortcutProvider>
              <Tooltip.Provider delay={400}>
                <RouterProvider router={router} />
                <Reauthentication />
                <EndedSession />
                <Conflicts />
                <Toasts />
              </Tooltip.Provider>
            </ShortcutProvider>
          </RecordNameContext>
        </QueryClientProvider>
      </IntlProvider>
    </CSPProvider>
  </StrictMode>,
)
