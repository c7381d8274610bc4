import { pageOrigin } from '../../platform/http/protocol/cookies.ts'
import { normalizeHost } from '../../platform/http/request-context.ts'
import { basePath, htmlPage } from '../../platform/http/pages/html.ts'
import { escapeHtml } from '../../platform/http/pages/escape-html.ts'
import type { RouteResponse, PublicRequest, PublicRoute, Services } from '../../platform/http/route.ts'
import { version } from '../../platform/http/protocol/version.ts'
import { isEmpty } from '../../identity/auth/store.ts'

const link = { type: 'string' }
const serviceSchema = {
  type: 'object',
  required: ['name', 'version', 'api', 'openapi', 'explorer', 'guides', 'account'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', const: 'Rapport' },
    version: { type: 'string', description: 'The version of the API, as a date.' },
    api: { ...link, description: 'Base URL of the API.' },
    openapi: { ...link, description: 'The OpenAPI document.' },
    explorer: { ...link, description: 'The interactive explorer of the API.' },
    guides: { ...link, description: 'The guides, as pages for people.' },
    account: { ...link, description: 'The page where people log in.' },
  },
}

const home = {
  kind: 'public',
  method: 'GET',
  tag: 'documentation',
  params: {},
  query: { kind: 'none' },
  responses: { 200: { kind: 'schema', component: 'Service', schema: serviceSchema, hasPage: true } },
  handle: async (request) => ({ ...(await respond(request)), status: 200 }),
} satisfies Partial<PublicRoute>

/** Start page for people who know only the address of the service. */
export const homeRoutes: readonly PublicRoute[] = [
  {
    ...home,
    host: 'both',
    hasWebPage: true,
    path: '/',
    operation: 'getService',
    summary: 'Get the web application, or the links of the service as JSON',
  },
  {
    ...home,
    host: 'api',
    path: '/v5',
    operation: 'getApi',
    summary: 'Get the start page, or its links as JSON, at the base URL of the API',
  },
]

async function respond(request: PublicRequest): Promise<Omit<RouteResponse, 'status'>> {
  const { services, client } = request
  const links = linksOf(request)
  const vary = { vary: 'accept, accept-encoding, origin' }
  if (!client.wantsPage) return { text: JSON.stringify({ name: 'Rapport', version, ...links }), headers: vary }
  const { text, headers } = startPage(links, await isWithoutUsers(services))
  return { text, headers: { ...headers, ...vary } }
}

/** With AUTH_ORIGIN, people log in at one host and programs use the other. */
function linksOf({
  services,
  client,
}: PublicRequest): Record<'api' | 'openapi' | 'explorer' | 'guides' | 'account', string> {
  const accountOrigin = pageOrigin(services, client)
  const isSeparate = services.pageOrigin !== undefined && hostOf(services.origin) !== hostOf(accountOrigin)
  const isAuthHost = isSeparate && hostOf(client.requestOrigin) === hostOf(accountOrigin)
  const base = isAuthHost ? services.origin : basePath(services.origin)
  const api = `${base}/v5`
  return {
    api,
    openapi: `${api}/docs`,
    explorer: `${api}/swagger`,
    guides: `${base}/docs`,
    account: `${accountOrigin}/account`,
  }
}

const hostOf = (origin: string): string => normalizeHost(origin.replace(/^https?:\/\//, '').split('/')[0] ?? '')

function startPage(links: ReturnType<typeof linksOf>, hasNoUsers: boolean): ReturnType<typeof htmlPage> {
  const [openapi, explorer, guides, account] = [links.openapi, links.explorer, links.guides, links.account].map(
    escapeHtml,
  )
  const callToAction = hasNoUsers
    ? `<p><strong>Set up:</strong> there are no accounts yet. Open the set-up link that the service printed when it started;
restart the service to get a new one.</p>`
    : `<p><a href="${account}">Log in</a></p>`
  return htmlPage(
    'Rapport',
    `<h1>Welcome</h1>
<p>A customer-relationship service with an API.</p>
${callToAction}
<ul>
<li><a href="${explorer}">API explorer</a>: try requests in the browser</li>
<li><a href="${guides}">Guides</a>: how to set up, use and operate Rapport</li>
<li><a href="${openapi}">OpenAPI document</a>: for tools and generators</li>
</ul>`,
  )
}

/** Services that are known to have users, which does not change while they run. */
const servicesWithUsers = new WeakSet<Services>()

/** Does nobody have an account yet? Then the set-up link that the start printed creates the first one. */
export async function isWithoutUsers(services: Services): Promise<boolean> {
  if (servicesWithUsers.has(services)) return false
  const hasNoUsers = await services.database.crossTenantTransaction('set the service up', isEmpty)
  if (!hasNoUsers) servicesWithUsers.add(services)
  return hasNoUsers
}
