import '@fontsource-variable/inter/wght.css'
import './ui/base.css'
import { Tooltip } from '@base-ui/react/tooltip'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createTranslator, IntlProvider } from 'use-intl'
import { Reauthentication } from './access/reauthenticate.tsx'
import { whenDenied } from './api/client.ts'
import { queryClient, whenForgetting } from './api/query-client.ts'
import { whenSessionIsLost } from './api/session.ts'
import { loadMessages } from './messages/messages.ts'
import { setRefusals } from './messages/refusals.ts'
import { currentLanguage, localeOf, timeZone } from './preferences/locale.ts'
import { router } from './router.tsx'
import { checkAccess, leaveForLogIn } from './shell/leave.ts'
import { ShortcutProvider } from './shell/shortcuts.tsx'
import { leaveCompositionsAlone } from './ui/composition.ts'
import { RecordNameContext } from './ui/error-text.tsx'
import { keepFocus } from './ui/focus.ts'
import { closeToasts, Toasts } from './ui/toast.tsx'
import { RecordName } from './views/record-name.tsx'

const language = currentLanguage()
document.documentElement.lang = language

whenSessionIsLost(leaveForLogIn)
whenDenied(() => void checkAccess())
whenForgetting(closeToasts)
leaveCompositionsAlone()
keepFocus()

const messages = await loadMessages(language)
const refusals = createTranslator({ locale: localeOf(language), messages, namespace: 'refusals' })
setRefusals((key, values) => refusals(key, values as never))
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
                <Toasts />
              </Tooltip.Provider>
            </ShortcutProvider>
          </RecordNameContext>
        </QueryClientProvider>
      </IntlProvider>
    </CSPProvider>
  </StrictMode>,
)
