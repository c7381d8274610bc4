import type { Route } from './platform/http/route.ts'
import type { Resource } from './platform/resource/define.ts'
import { authRoutes } from './resources/auth/routes.ts'
import { campaigns } from './resources/campaigns/resource.ts'
import { campaignRoutes } from './resources/campaigns/routes.ts'
import { companies } from './resources/companies/resource.ts'
import { companyRoutes } from './resources/companies/routes.ts'
import { contacts } from './resources/contacts/resource.ts'
import { contactRoutes } from './resources/contacts/routes.ts'
import { employments } from './resources/employments/resource.ts'
import { employmentRoutes } from './resources/employments/routes.ts'
import { teams } from './resources/teams/resource.ts'
import { teamRoutes } from './resources/teams/routes.ts'
import { userRoutes } from './resources/users/routes.ts'

/** Everything that has a table of its own, in one list. */
export const resources: readonly Resource[] = [contacts, employments, companies, campaigns, teams]

/** Everything the API serves, in one list: the product's table of contents. */
export const routes: readonly Route[] = [
  ...authRoutes,
  ...userRoutes,
  ...contactRoutes,
  ...employmentRoutes,
  ...companyRoutes,
  ...campaignRoutes,
  ...teamRoutes,
]
