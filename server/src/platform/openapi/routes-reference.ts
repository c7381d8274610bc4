import { isScoped, type Route } from '../http/route.ts'

/** A route with what a request needs, in words; the scope, if any, is in its short form. */
export interface ListedRoute {
  method: string
  path: string
  scope: string | null
  needs: string
}

/** Every route, by path: each path is followed by the longer ones that start with it. */
export function listRoutes(routes: readonly Route[]): ListedRoute[] {
  return routes
    .map((route) => ({ method: route.method, path: route.path, scope: scopeOf(route), needs: needsOf(route) }))
    .sort((one, other) => compare(sortKey(one), sortKey(other)))
}

const scopeOf = (route: Route): string | null => (isScoped(route) ? route.scope : null)

function needsOf(route: Route): string {
  if (route.kind === 'push') return 'secret in the path'
  if (route.kind === 'public' || route.kind === 'probe') return 'no credential'
  const credential = scopeOf(route) ?? 'access token'
  const isRecent = route.kind !== 'search' && route.requiresRecentAuthentication
  return isRecent ? `${credential}, recent re-authentication` : credential
}

const methods = ['GET', 'POST', 'PATCH', 'DELETE']

/** Paths are compared by their segments: `/v5/notes/count` is before `/v5/notes-of-others`. */
const sortKey = ({ method, path }: ListedRoute): string =>
  `${path.replaceAll('/', '\u0000')}\u0000\u0000${methods.indexOf(method)}`

const compare = (one: string, other: string): number => (one < other ? -1 : 1)

/** The list as text, one line per route. The columns have a fixed width, so that a route changes only its own line. */
export const formatRoutes = (listed: readonly ListedRoute[]): string =>
  listed.map(({ method, path, needs }) => `${method.padEnd(6)}  ${path.padEnd(61)}  ${needs}`).join('\n')

/** Generates docs/routes.md. */
export const describeRoutes = (routes: readonly Route[]): string => `# Routes

Generated from the declarations of the routes by \`npm run generate\`; do not edit. \`rapport routes\` prints the list of
your version and needs no database; \`--json\` prints it for programs. The [API guide](guides/api.md) explains the API, and
\`/v5/docs\` of a running service describes each route.

Each line has a method, a path and what a request needs:

- A scope, such as \`contact:list:read\`, which the [API key](guides/api-keys.md#scopes) or the [role](guides/people.md#roles)
  must have. Some requests need more for what they do: a search of
  [related records](guides/search.md#related-records) needs the scope to list them, accepting a
  [suggestion](guides/next-actions.md#accept-edit-or-reject) the scope of its effect, and a change of owners recent
  re-authentication.
- \`access token\`: the access token of a person, whatever their role. API keys are rejected.
- \`recent re-authentication\`: a person must also have [re-authenticated](guides/second-factors.md#re-authentication)
  within the last five minutes. API keys cannot re-authenticate; they need the scope, granted by name.
- \`secret in the path\`: the path is the credential.
- \`no credential\`: no \`Authorization\` header. Routes for logging in take a password, a code or a token in the body.

HEAD works wherever GET does. The files of the web application and the guides at \`/docs\` need no credential and are not
listed.

\`\`\`
${formatRoutes(listRoutes(routes))}
\`\`\`
`
