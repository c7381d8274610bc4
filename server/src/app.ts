import { covers, scopesByRole } from './platform/model/scopes.ts'
import { openapi } from './platform/openapi/openapi.ts'
import { auditActionsOf, headingsOf, type Part, roleGroupsOf } from './platform/http/part.ts'
import { probeRoutes } from './platform/http/probes.ts'
import { isScoped, listedResources, type Route } from './platform/http/route.ts'
import { isInFeed, type Resource } from './platform/records/declare/define.ts'
import { type Relations, relationsAmong } from './platform/records/declare/relations.ts'
import { apiKeys } from './identity/api-keys/resource.ts'
import { apiKeyRoutes } from './identity/api-keys/routes.ts'
import { auditLogPart } from './identity/audit-log/routes.ts'
import { accountRoutes, authRoutes } from './identity/auth/routes.ts'
import { campaignPart } from './crm/campaigns/routes.ts'
import { companyPart } from './crm/companies/routes.ts'
import { contactPart } from './crm/contacts/routes.ts'
import { feedPart } from './feed/routes.ts'
import { explorerFiles } from './api/docs/explorer.ts'
import { dealPart } from './crm/deals/routes.ts'
import { docsRoutes } from './api/docs/routes.ts'
import { erasurePart } from './api/erasure-routes.ts'
import { exampleDataPart } from './crm/example-data/routes.ts'
import { inboxPart } from './inbox/routes.ts'
import { homeRoutes } from './api/home/routes.ts'
import { pushRoutes } from './inbox/push/routes.ts'
import { importPart } from './intake/imports/routes.ts'
import { acceptanceRoutes } from './identity/invitations/acceptance.ts'
import { invitations } from './identity/invitations/resource.ts'
import { invitationRoutes } from './identity/invitations/routes.ts'
import { mails } from './identity/mails/resource.ts'
import { mailRoutes } from './identity/mails/routes.ts'
import { members } from './identity/members/resource.ts'
import { memberRoutes } from './identity/members/routes.ts'
import { notePart } from './crm/notes/routes.ts'
import { organizationRoutes } from './identity/organizations/routes.ts'
import { suggestionPart } from './assistant/suggestions/routes.ts'
import { propertyPart } from './crm/properties/routes.ts'
import { pipelinePart } from './crm/pipelines/routes.ts'
import { schemaRoutes } from './api/schema/routes.ts'
import { refusedPushPart } from './intake/refused-pushes/routes.ts'
import { rowPart } from './intake/rows/routes.ts'
import { presencePart } from './presence/routes.ts'
import { stageMovePart } from './crm/stage-moves/routes.ts'
import { stagePart } from './crm/stages/routes.ts'
import { secondFactorRoutes } from './identity/second-factors/routes.ts'
import { employmentPart } from './crm/employments/routes.ts'
import { rolePart } from './identity/roles/routes.ts'
import { scopeRoutes } from './identity/scopes/routes.ts'
import { ssoConnections } from './identity/single-sign-on/connection.ts'
import { domains } from './identity/single-sign-on/domain.ts'
import { singleSignOnRoutes } from './identity/single-sign-on/routes.ts'
import { timelinePart } from './crm/timeline/routes.ts'
import { systemPart } from './api/system/routes.ts'
import { taskPart } from './crm/tasks/routes.ts'
import { teamMemberPart } from './identity/team-members/routes.ts'
import { teamPart } from './identity/teams/routes.ts'
import { userRoutes } from './identity/users/routes.ts'
import { viewPart } from './crm/views/routes.ts'
import { recordPathOf } from './webhooks/record-path.ts'
import { webhookPart } from './webhooks/routes.ts'
import type { EventSources } from './webhooks/store.ts'

let relationsOfRoutes: Relations | undefined

/** The relations between all records. Views use them, and their own list is one of the routes. */
function relations(resource: Resource): ReturnType<Relations> {
  relationsOfRoutes ??= relationsAmong(listedResources(routes))
  return relationsOfRoutes(resource)
}

/** What webhooks send. */
export const eventSources: EventSources = {
  followed: () => resources.filter(isInFeed),
  relations,
  recordPath: (resource) => recordPathOf(routes, resource),
}

/** The domain of the product, one line per folder: declarations and what is derived from them. */
const records: readonly Part[] = [
  contactPart,
  erasurePart(() => resources),
  employmentPart,
  notePart,
  taskPart,
  suggestionPart,
  companyPart,
  dealPart,
  stageMovePart,
  timelinePart,
  pipelinePart,
  stagePart,
  campaignPart,
  viewPart(relations),
  propertyPart,
  importPart,
  rowPart,
  refusedPushPart,
  webhookPart(eventSources, isScopeUsed),
  exampleDataPart,
  teamPart,
  teamMemberPart,
  rolePart(isScopeUsed, () => roleScopes),
]

/** Actions of the audit log that declarations add, each with a description. */
export const declaredActions = auditActionsOf(records)

/** Everything that the API serves: the table of contents of the product. */
const parts: readonly Part[] = [
  {
    routes: authRoutes,
    headings: { authentication: 'Logging in and out, refreshing tokens, and the keys that sign them.' },
  },
  { routes: secondFactorRoutes },
  { routes: userRoutes, headings: { users: 'The caller’s profile.' }, roleGroups: { user: 'records' } },
  {
    routes: accountRoutes,
    headings: { account: 'The caller’s own account (access token only): password, address, sessions.' },
  },
  ...records,
  {
    routes: organizationRoutes,
    headings: { organizations: 'The organization of the request, and the caller’s organizations.' },
    roleGroups: { organization: 'visible' },
  },
  { resources: [members], routes: memberRoutes },
  { resources: [invitations], routes: [...invitationRoutes, ...acceptanceRoutes] },
  { resources: [ssoConnections, domains], routes: singleSignOnRoutes },
  { resources: [apiKeys], routes: apiKeyRoutes(isScopeUsed) },
  {
    routes: scopeRoutes(
      () => routes,
      () => roleScopes,
    ),
  },
  {
    routes: schemaRoutes(() => ({ resources, routes, relations })),
    headings: { schema: 'The resources and their fields, for applications that show them.' },
    roleGroups: { schema: 'visible' },
  },
  feedPart(() => resources),
  inboxPart,
  { routes: pushRoutes },
  presencePart(() => resources),
  auditLogPart(declaredActions),
  { resources: [mails], routes: mailRoutes },
  systemPart,
  {
    routes: [...docsRoutes(() => openapi(routes, headings)), ...explorerFiles, ...homeRoutes],
    headings: { documentation: 'The start page and the API documentation.' },
  },
  { routes: probeRoutes, headings: { health: 'Health checks for orchestrators and load balancers.' } },
]

/** All resources with a table. */
export const resources: readonly Resource[] = parts.flatMap((part) => part.resources ?? [])

export const routes: readonly Route[] = parts.flatMap((part) => part.routes)

/** Descriptions of the route tags, in the order of the documentation. */
export const headings = headingsOf(parts)

/** Role group of each noun in scopes. */
export const roleGroups = roleGroupsOf(parts)

/** Scopes of each role. */
export const roleScopes = scopesByRole(roleGroups)

/** Whether any route requires a scope that this one covers. */
export function isScopeUsed(scope: string): boolean {
  return routes.some((route) => isScoped(route) && covers([scope], route.scope))
}
