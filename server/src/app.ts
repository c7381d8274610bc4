import { openapi } from './platform/http/openapi.ts'
import type { Route } from './platform/http/route.ts'
import type { Resource } from './platform/resource/define.ts'
import { authRoutes } from './resources/auth/routes.ts'
import { campaigns } from './resources/campaigns/resource.ts'
import { campaignRoutes } from './resources/campaigns/routes.ts'
import { companies } from './resources/companies/resource.ts'
import { companyRoutes } from './resources/companies/routes.ts'
import { contacts } from './resources/contacts/resource.ts'
import { contactRoutes } from './resources/contacts/routes.ts'
import { docsRoutes } from './resources/docs/routes.ts'
import { importRoutes } from './resources/imports/routes.ts'
import { imports } from './resources/imports/resource.ts'
import { noteRoutes } from './resources/notes/routes.ts'
import { notes } from './resources/notes/resource.ts'
import { rowRoutes } from './resources/rows/routes.ts'
import { rowDetails } from './resources/rows/resource.ts'
import { employments } from './resources/employments/resource.ts'
import { employmentRoutes } from './resources/employments/routes.ts'
import { teams } from './resources/teams/resource.ts'
import { teamRoutes } from './resources/teams/routes.ts'
import { userRoutes } from './resources/users/routes.ts'

/** Everything that has a table of its own, in one list. */
export const resources: readonly Resource[] = [
  contacts,
  employments,
  notes,
  companies,
  campaigns,
  imports,
  rowDetails,
  teams,
]

/** Everything the API serves, in one list: the product's table of contents. */
export const routes: readonly Route[] = [
  ...authRoutes,
  ...userRoutes,
  ...contactRoutes,
  ...employmentRoutes,
  ...noteRoutes,
  ...companyRoutes,
  ...campaignRoutes,
  ...importRoutes,
  ...rowRoutes,
  ...teamRoutes,
  ...docsRoutes(() => openapi(routes, headings)),
]

/** The headings of the documentation, in its order: what each tag of a route is about. */
export const headings: Readonly<Record<string, string>> = {
  authentication: 'New tokens for old ones, and the keys that prove them.',
  users: 'Who the caller is.',
  contacts: 'People. A team’s own view of its contacts stands under `/api/teams`.',
  employments: 'The jobs in a contact’s history.',
  notes: 'What is worth remembering of a contact, written by hand or pushed by an import.',
  companies: 'Organizations that contacts work for.',
  campaigns: 'Messages to many contacts, as drafts.',
  imports: 'Sources of leads: each has a secret URL that other systems push at.',
  rows: 'What was pushed at an import, and what came of it.',
  teams: 'Parts of an organization; each contact belongs to one.',
  documentation: 'The API, described by itself.',
}
