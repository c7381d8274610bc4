import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../test/command-line.ts'
import { backdateReauthentication, callAs } from '../../test/people.ts'
import { startWithRegisteredRoutes } from '../../test/registered-routes.ts'
import type { TestOrganization, TestService } from '../../test/service.ts'
import { urlOf } from '../../test/collections.ts'
import { routes } from '../app.ts'
import { formatRoutes, type ListedRoute, listRoutes } from '../platform/openapi/routes-reference.ts'
import { bodyExample } from '../platform/openapi/openapi-schemas.ts'
import { type AccountRoute, isScoped, type Route, type ScopedRoute } from '../platform/http/route.ts'
import { newId, encodeId } from '../platform/model/ids.ts'
import type { RouteOptions } from '../../test/fixture.ts'

let service: TestService
let registered: readonly string[]
let organization: TestOrganization
let listed: readonly ListedRoute[]

beforeAll(async () => {
  ;({ service, registered } = await startWithRegisteredRoutes())
  organization = await service.newOrganization()
  const { code, output, errors } = await run(['routes', '--json'], unreachable)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  listed = JSON.parse(output).routes
})
afterAll(() => service.close())

/** Nothing listens there. */
const unreachable = { environment: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' } }

const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'> | ListedRoute): string => `${method} ${path}`
const anyPath = ({ path }: Pick<Route, 'path'>): string => path.replaceAll(/\{\w+\}/g, 'any')
const needsOf = (route: Route): string => listed.find((one) => nameOf(one) === nameOf(route))?.needs ?? ''

test('`rapport routes` lists every route of the service exactly once, and needs no database', async () => {
  const names = listed.map(nameOf)
  expect(names.length).toBeGreaterThan(300)
  expect(names.length).toBe(new Set(names).size)
  expect(names.filter((name) => !registered.includes(name))).toEqual([])
  // Whatever else the router has rejects the method.
  const others = registered.filter((name) => !names.includes(name))
  expect(others.length).toBeGreaterThan(0)
  for (const other of others) {
    const [method = '', path = ''] = other.split(' ')
    expect([other, (await service.anonymous(method, anyPath({ path }))).status]).toEqual([other, 405])
  }
})

test('the text has one line per route, as in docs/routes.md', async () => {
  const { code, output } = await run(['routes'], unreachable)
  const columns = [...output.matchAll(/^(\w+) +(\S+) +(.+)$/gm)].map(([, ...cells]) => cells)
  expect([code, columns]).toEqual([0, listed.map(({ method, path, needs }) => [method, path, needs])])
  const page = readFileSync(new URL('../../../docs/routes.md', import.meta.url), 'utf8')
  expect(/^```\n(.*?)^```$/ms.exec(page)?.[1]).toBe(output)
})

test('the list is ordered by paths, each followed by those below it, and a new route adds only its own line', () => {
  const notes = listed.map(nameOf).filter((name) => / \/v5\/notes?\b/.test(name))
  expect(notes).toEqual([
    'GET /v5/note-analyses',
    'GET /v5/note-analyses/count',
    'POST /v5/note-analyses/search',
    'POST /v5/note-analyses/search/count',
    'GET /v5/note-analyses/{noteAnalysisId}',
    'GET /v5/notes',
    'GET /v5/notes/count',
    'POST /v5/notes/search',
    'POST /v5/notes/search/count',
    'GET /v5/notes/{noteId}',
    'PATCH /v5/notes/{noteId}',
    'DELETE /v5/notes/{noteId}',
    'POST /v5/notes/{noteId}/restore',
  ])
  const [contacts] = routes.filter(({ path }) => path === '/v5/contacts')
  const longer = { ...contacts, path: `/v5/contacts/with-${'long'.repeat(20)}-names` } as Route
  const between = { ...contacts, path: '/v5/contacts-of-others' } as Route
  const [before, after] = [routes, [longer, between, ...routes]].map((all) => formatRoutes(listRoutes(all)).split('\n'))
  const added = after?.filter((line) => !before?.includes(line)) ?? []
  expect(after?.filter((line) => !added.includes(line))).toEqual(before)
  expect(added.map((line) => line.split(/ +/)[1])).toEqual([longer.path, between.path])
})

test('a request without a credential is asked for one exactly where the list says that the route needs it', async () => {
  const wanted: Record<string, string[]> = {}
  for (const route of routes) {
    const { status, body } = await service.anonymous(route.method, anyPath(route))
    const isAsked = status === 401 && body.code === 'missing_authorization'
    const [need = ''] = needsOf(route).split(', ')
    const kind = isScoped(route) ? 'scope' : need
    wanted[kind] = [...new Set([...(wanted[kind] ?? []), isAsked ? 'asked' : 'not asked'])]
  }
  // Which scope, is tested by scopes.test.ts.
  expect(wanted).toEqual({
    'no credential': ['not asked'],
    'secret in the path': ['not asked'],
    'access token': ['asked'],
    scope: ['asked'],
  })
})

test('an API key with all scopes is rejected exactly where the list says `access token`', async () => {
  const tokenOnly = routes.filter((route) => needsOf(route).startsWith('access token'))
  expect(tokenOnly.length).toBeGreaterThan(20)
  for (const route of tokenOnly) {
    const { status, body } = await organization.call(route.method, anyPath(route))
    expect([nameOf(route), status, body.code]).toEqual([nameOf(route), 403, 'insufficient_permissions'])
  }
  expect(tokenOnly.filter((route) => route.kind !== 'account')).toEqual([])
})

/** A well-formed request, for a record that does not exist. */
function exampleOf(route: ScopedRoute | AccountRoute): RouteOptions {
  const ids = Object.entries(route.params).map(([name, { prefix }]) => [name, encodeId(prefix, newId())])
  const body = 'body' in route && route.body ? bodyExample(route.body.shape) : undefined
  return { params: Object.fromEntries(ids), body }
}

const endingSessionsLast = (one: Route, other: Route): number => endsSessions(one) - endsSessions(other)
const endsSessions = ({ operation }: Route): number => Number(operation === 'endSessions')

test('an access token needs recent re-authentication exactly where the list says so', async () => {
  await backdateReauthentication(service, organization, 600)
  const call = callAs(service, organization.accessToken)
  const refused: string[] = []
  const withToken = routes.filter((route) => isScoped(route) || route.kind === 'account').sort(endingSessionsLast)
  for (const route of withToken) {
    const options = exampleOf(route)
    const { status, body } = await call(route.method, urlOf(route, options), options)
    expect([nameOf(route), status]).not.toEqual([nameOf(route), 401])
    // The example of an invitation is for an owner, which is why it needs one.
    if (body?.code === 'reauthentication_required' && route.operation !== 'createInvitation')
      refused.push(nameOf(route))
  }
  const declared = withToken.filter((route) => needsOf(route).endsWith(', recent re-authentication')).map(nameOf)
  expect(declared.length).toBeGreaterThan(20)
  expect(refused).toEqual(declared)
})
