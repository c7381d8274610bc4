import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { openLink } from './access/opened-link.ts'
import { unlessTroubled } from './api/connection.ts'
import { ApiError } from './api/error.ts'
import { organizationQuery, meQuery } from './api/me.ts'
import { queryClient } from './api/query-client.ts'
import { schemaQuery } from './api/schema.ts'
import { isLoggedIn } from './api/session.ts'
import { followChanges } from './live/follow.ts'
import {
  loadEntranceMessages,
  loadHomeMessages,
  loadImportsMessages,
  loadProfileMessages,
  loadRecordMessages,
} from './messages/messages.ts'
import { currentLanguage } from './preferences/locale.ts'
import { preloadBoard } from './resources/boards.ts'
import { parseSearch, type Search, stringifySearch } from './api/search.ts'
import { Shell } from './shell/shell.tsx'
import { preloadViews } from './views/saved-views.ts'
import { preloadRecord } from './views/use-record.ts'
import { ApplicationError, Loading, PageError, UnknownPage } from './ui/states.tsx'

const root = createRootRoute({ notFoundComponent: UnknownPage })

// Pages that work without a log-in.

const login = createRoute({
  getParentRoute: () => root,
  path: '/login',
  component: lazyRouteComponent(() => import('./access/login.tsx'), 'Login'),
})
/** Other pages without a log-in; their texts are loaded with the first of them. */
const entrance = createRoute({
  getParentRoute: () => root,
  id: 'entrance',
  loader: () => loadEntranceMessages(currentLanguage()),
  component: lazyRouteComponent(() => import('./access/entrance.tsx'), 'Entrance'),
})
const forgotPassword = createRoute({
  getParentRoute: () => entrance,
  path: '/forgot-password',
  component: lazyRouteComponent(() => import('./access/forgot-password.tsx'), 'ForgotPassword'),
})
const signUp = createRoute({
  getParentRoute: () => entrance,
  path: '/sign-up',
  component: lazyRouteComponent(() => import('./access/forgot-password.tsx'), 'SignUp'),
})
const singleSignOn = createRoute({
  getParentRoute: () => entrance,
  path: '/single-sign-on',
  component: lazyRouteComponent(() => import('./access/single-sign-on.tsx'), 'SingleSignOn'),
})
/** The page for links from mails and the terminal; the kind of link and its secret are in the fragment. */
const account = createRoute({
  getParentRoute: () => entrance,
  path: '/account',
  beforeLoad: ({ location, preload }) => {
    if (location.hash === '' || preload) return
    throw redirect({ to: openLink(location.hash), hash: '', replace: true })
  },
  component: lazyRouteComponent(() => import('./access/account-link.tsx'), 'AccountLink'),
})
const logout = createRoute({
  getParentRoute: () => entrance,
  path: '/logout',
  component: lazyRouteComponent(() => import('./access/logout.tsx'), 'Logout'),
})
/** Replaces the application while the current organization refuses the session. */
const noOrganization = createRoute({
  getParentRoute: () => entrance,
  path: '/no-organization',
  loader: () => loadProfileMessages(currentLanguage()),
  component: lazyRouteComponent(() => import('./access/no-organization.tsx'), 'NoOrganization'),
})

// Pages of the application.

const application = createRoute({
  getParentRoute: () => root,
  id: 'application',
  beforeLoad: async ({ location }) => {
    if (!(await isLoggedIn())) throw redirect({ to: '/login', search: { next: location.href } })
    followChanges()
  },
  loader: async () => {
    const organization = queryClient.ensureQueryData(organizationQuery)
    const others = [meQuery, schemaQuery].map((query) => queryClient.ensureQueryData(query as never))
    const results = await Promise.allSettled([organization, ...others])
    const refusal = results.find((result) => result.status === 'rejected')
    if (!refusal) return { organizationId: (await organization).id }
    const isRefused = refusal.reason instanceof ApiError && refusal.reason.status === 403
    throw isRefused ? redirect({ to: '/no-organization', search: { reason: refusal.reason.code } }) : refusal.reason
  },
  component: Shell,
  errorComponent: ApplicationError,
})
const home = createRoute({
  getParentRoute: () => application,
  path: '/',
  loader: () =>
    Promise.all([
      loadHomeMessages(currentLanguage()),
      import('./home/my-day.ts').then(({ loadMyDay }) => unlessTroubled(loadMyDay())),
    ]),
  component: lazyRouteComponent(() => import('./home/home.tsx'), 'Home'),
})
const profile = createRoute({
  getParentRoute: () => application,
  path: '/profile',
  loader: () =>
    Promise.all([
      loadProfileMessages(currentLanguage()),
      import('./access/profile/queries.ts').then(({ preloadProfile }) => unlessTroubled(preloadProfile())),
    ]),
  component: lazyRouteComponent(() => import('./access/profile/profile.tsx'), 'Profile'),
})
const suggestions = createRoute({
  getParentRoute: () => application,
  path: '/suggestions',
  loader: () =>
    Promise.all([
      loadRecordMessages(currentLanguage()),
      import('./suggestions/suggestion-data.ts').then(({ loadInbox }) => unlessTroubled(loadInbox())),
    ]),
  component: lazyRouteComponent(() => import('./suggestions/inbox.tsx'), 'Suggestions'),
})
const inbox = createRoute({
  getParentRoute: () => application,
  path: '/inbox',
  loader: ({ location }) =>
    import('./inbox/inbox-data.ts').then(({ loadInbox }) => loadInbox(location.search as Search)),
  component: lazyRouteComponent(() => import('./inbox/inbox.tsx'), 'Inbox'),
})
const inboxSettings = createRoute({
  getParentRoute: () => application,
  path: '/inbox/settings',
  loader: () => import('./inbox/settings-data.ts').then(({ loadSettings }) => loadSettings()),
  component: lazyRouteComponent(() => import('./inbox/inbox-settings.tsx'), 'InboxSettings'),
})
const imports = createRoute({
  getParentRoute: () => application,
  path: '/imports',
  loader: () => loadImportsMessages(currentLanguage()),
  component: lazyRouteComponent(() => import('./imports/imports.tsx'), 'Imports'),
})
const importRecord = createRoute({
  getParentRoute: () => application,
  path: '/imports/$importId',
  loader: () => loadImportsMessages(currentLanguage()),
  component: lazyRouteComponent(() => import('./imports/import-record.tsx'), 'ImportRecord'),
})
const loadSection = (name: string | undefined) =>
  import('./settings/sections.ts').then(({ preloadSection }) => preloadSection(name))
const settings = createRoute({
  getParentRoute: () => application,
  path: '/settings',
  loader: () => loadSection(undefined),
  component: lazyRouteComponent(() => import('./settings/settings.tsx'), 'Settings'),
})
const settingsSection = createRoute({
  getParentRoute: () => application,
  path: '/settings/$section',
  loader: ({ params }) => loadSection(params.section),
  component: lazyRouteComponent(() => import('./settings/settings.tsx'), 'Settings'),
})
const list = createRoute({
  getParentRoute: () => application,
  path: '/$resource',
  loader: ({ params: { resource } }) => unlessTroubled(Promise.all([preloadBoard(resource), preloadViews(resource)])),
  component: lazyRouteComponent(() => import('./resources/list-page.tsx'), 'ResourceListPage'),
})
const record = createRoute({
  getParentRoute: () => application,
  path: '/$resource/$recordId',
  loader: ({ params, location }) => {
    // The page does not wait for the record.
    void preloadRecord(params.resource, params.recordId)
    return Promise.all([
      loadRecordMessages(currentLanguage()),
      import('./resources/sections.ts').then(({ preloadSections }) =>
        unlessTroubled(preloadSections(params.resource, params.recordId, location.search as Search)),
      ),
    ])
  },
  component: lazyRouteComponent(() => import('./resources/record-page.tsx'), 'ResourceRecordPage'),
})

/** All pages: the table of contents of the application. */
const routeTree = root.addChildren([
  login,
  entrance.addChildren([forgotPassword, signUp, singleSignOn, noOrganization, account, logout]),
  application.addChildren([
    home,
    inbox,
    inboxSettings,
    profile,
    suggestions,
    imports,
    importRecord,
    settings,
    settingsSection,
    list,
    record,
  ]),
])

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingMs: 200,
  // The pending state is hardly visible, so the page replaces it at once.
  defaultPendingMinMs: 0,
  defaultPendingComponent: Loading,
  defaultErrorComponent: PageError,
  scrollRestoration: true,
  parseSearch,
  stringifySearch,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
