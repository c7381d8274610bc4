import { covers } from './platform/access/scopes.ts'
import { openapi } from './platform/http/openapi.ts'
import { isScoped, type Route } from './platform/http/route.ts'
import type { Resource } from './platform/resource/define.ts'
import { apiKeys } from './resources/api-keys/resource.ts'
import { apiKeyRoutes } from './resources/api-keys/routes.ts'
import { auditEvents } from './resources/audit-log/resource.ts'
import { auditLogRoutes } from './resources/audit-log/routes.ts'
import { accountRoutes, authRoutes } from './resources/auth/routes.ts'
import { campaigns } from './resources/campaigns/resource.ts'
import { campaignRoutes } from './resources/campaigns/routes.ts'
import { companies } from './resources/companies/resource.ts'
import { companyRoutes } from './resources/companies/routes.ts'
import { contacts } from './resources/contacts/resource.ts'
import { contactRoutes } from './resources/contacts/routes.ts'
import { docsRoutes } from './resources/docs/routes.ts'
import { importRoutes } from './resources/imports/routes.ts'
import { imports } from './resources/imports/resource.ts'
import { acceptanceRoutes } from './resources/invitations/acceptance.ts'
import { invitations } from './resources/invitations/resource.ts'
import { invitationRoutes } from './resources/invitations/routes.ts'
import { mails } from './resources/mails/resource.ts'
import { mailRoutes } from './resources/mails/routes.ts'
import { members } from './resources/members/resource.ts'
import { memberRoutes } from './resources/members/routes.ts'
import { noteRoutes } from './resources/notes/routes.ts'
import { notes } from './resources/notes/resource.ts'
import { organizationRoutes } from './resources/organizations/routes.ts'
import { rowRoutes } from './resources/rows/routes.ts'
import { rowDetails } from './resources/rows/resource.ts'
import { secondFactorRoutes } from './resources/second-factors/routes.ts'
import { employments } from './resources/employments/resource.ts'
import { employmentRoutes } from './resources/employments/routes.ts'
import { scopeRoutes } from './resources/scopes/routes.ts'
import { ssoConnections } from './resources/single-sign-on/connection.ts'
import { domains } from './resources/single-sign-on/domain.ts'
import { singleSignOnRoutes } from './resources/single-sign-on/routes.ts'
import { teamMembers } from './resources/team-members/resource.ts'
import { teamMemberRoutes } from './resources/team-members/routes.ts'
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
  teamMembers,
  members,
  invitations,
  ssoConnections,
  domains,
  apiKeys,
  auditEvents,
  mails,
]

/** Everything the API serves, in one list: the product's table of contents. */
export const routes: readonly Route[] = [
  ...authRoutes,
  ...secondFactorRoutes,
  ...userRoutes,
  ...accountRoutes,
  ...contactRoutes,
  ...employmentRoutes,
  ...noteRoutes,
  ...companyRoutes,
  ...campaignRoutes,
  ...importRoutes,
  ...rowRoutes,
  ...teamRoutes,
  ...teamMemberRoutes,
  ...organizationRoutes,
  ...memberRoutes,
  ...invitationRoutes,
  ...acceptanceRoutes,
  ...singleSignOnRoutes,
  ...apiKeyRoutes(isNeeded),
  ...scopeRoutes(() => routes),
  ...auditLogRoutes,
  ...mailRoutes,
  ...docsRoutes(() => openapi(routes, headings)),
]

/** Does any route need something that the scope covers? */
export function isNeeded(scope: string): boolean {
  return routes.some((route) => isScoped(route) && covers([scope], route.scope))
}

/** The headings of the documentation, in its order: what each tag of a route is about. */
export const headings: Readonly<Record<string, string>> = {
  authentication: 'Logging in and out, new tokens for old ones, and the keys that prove them.',
  users: 'Who the caller is.',
  account: 'A person’s own affairs, by access token: password, address, sessions.',
  contacts: 'People. A team’s own view of its contacts stands under `/api/teams`.',
  employments: 'The jobs in a contact’s history.',
  notes: 'What is worth remembering of a contact, written by hand or pushed by an import.',
  companies: 'Organizations that contacts work for.',
  campaigns: 'Messages to many contacts, as drafts.',
  imports: 'Sources of leads: each has a secret URL that other systems push at.',
  rows: 'What was pushed at an import, and what came of it.',
  teams: 'Parts of an organization; each contact belongs to one.',
  organizations: 'The organization of the request, and those of the person who asks.',
  members: 'The people of an organization, and what each of them may do.',
  invitations: 'People who were asked to join and have not yet.',
  'sso-connections': 'Providers of identities (OpenID Connect) that people of the organization log in at.',
  domains: 'Domains that the organization has proved to be its own: their people can join by themselves.',
  'api-keys': 'Credentials of programs, and the scopes that they can have.',
  'audit-log': 'What was done in the organization, by whom and from where.',
  mails: 'What the service writes to people; without a mail server, where owners read it.',
  documentation: 'The API, described by itself.',
}
