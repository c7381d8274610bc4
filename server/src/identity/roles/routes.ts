import { inPages } from '../../platform/records/routes/array-pages.ts'
import type { Part } from '../../platform/http/part.ts'
import {
  type ReadRequest,
  type Route,
  type WriteRequest,
  type WriteRoute,
  writeRoute,
} from '../../platform/http/route.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { roles as builtInRoles, type RoleScopes } from '../../platform/model/scopes.ts'
import { bodyShape } from '../../platform/records/request/body.ts'
import { writeOne } from '../../platform/records/write/store.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { assertNeeded, type IsNeeded } from '../access/scope-list.ts'
import { reachOf, roles } from './resource.ts'
import { assertMayDefine, grantsMore } from './rules.ts'
import { assertMayChangeDefinition, permissionsOf, roleStore } from './store.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const group = new RouteGroup(roleStore, '/v5/roles')

const rules =
  'Nobody can give a role a scope that they lack, or more records than they see. People with a custom role cannot change one that allows more than theirs. Only a logged-in owner can grant scopes to create keys or to manage people and settings. A change takes effect with the next request of each member and of the API keys that they created.'

const createRoute = (isNeeded: IsNeeded): WriteRoute =>
  writeRoute({
    ...group.changeRoute('create'),
    summary: 'Create a role',
    description: rules,
    body: { component: 'RoleCreate', shape: bodyShape(roles, 'create'), required: true },
    async handle({ db, caller, body }) {
      assertNeeded(body, isNeeded)
      assertMayDefine(caller, permissionsOf(body))
      const { id, text, revision } = await writeOne(roleStore, db, { kind: 'create', values: body })
      return { status: 201, text, revision, headers: { location: `${group.path}/${encodeId(roles.idPrefix, id)}` } }
    },
  })

const updateRoute = (isNeeded: IsNeeded): WriteRoute => ({
  ...group.changeRoute('update'),
  summary: 'Change a role',
  description: `JSON Merge Patch (RFC 7396): only fields that are sent change, also within \`reach\`. ${rules} People cannot change the role that they have.`,
  body: { component: 'RoleUpdate', shape: bodyShape(roles, 'update'), required: true },
  async handle(request) {
    const { db, body, caller, params } = request
    assertNeeded(body, isNeeded)
    if (caller.customRoleId === group.id(params))
      throw new ApiError('insufficient_permissions', 'You cannot change your own role. Ask an owner or an admin.')
    await assertMayChangeDefinition(db, caller, group.id(params))
    return changeOne(group, request, {
      values: body,
      columns: (before) => {
        const after = { ...before, ...body, reach: { ...reachOf(before), ...reachOfBody(body) } }
        if (grantsMore(permissionsOf(before), permissionsOf(after))) assertMayDefine(caller, permissionsOf(after))
        return {}
      },
    })
  },
})

const reachOfBody = ({ reach }: JsonObject): JsonObject => (reach ?? {}) as JsonObject

/** A change of a role that must not allow more than the caller's own. */
const withinRank = (route: Route): Route =>
  route.kind === 'write'
    ? {
        ...route,
        async handle(request: WriteRequest) {
          await assertMayChangeDefinition(request.db, request.caller, group.id(request.params))
          return route.handle(request)
        },
      }
    : route

const deleteDescription =
  'Only a role that no member and no invitation has: otherwise 423 with their numbers. It can be restored within 30 days.'

const builtInSchema = {
  type: 'array',
  items: {
    type: 'object',
    required: ['id', 'role', 'scopes', 'reach'],
    additionalProperties: false,
    properties: {
      id: { type: 'string', description: 'The same as `role`, for pages.' },
      role: { type: 'string', enum: builtInRoles },
      scopes: { type: 'array', items: { type: 'string' } },
      reach: roles.fields.reach.schema,
    },
  },
}

/**
 * Their scopes follow from all routes, which are known only when all parts are. Those that no route needs are left out, so
 * that a new role can have the same ones.
 */
const builtInRoute = (isNeeded: IsNeeded, roleScopes: () => RoleScopes): Route => ({
  kind: 'read',
  method: 'GET',
  path: `${group.path}/built-in`,
  operation: 'listBuiltInRoles',
  summary: 'List the built-in roles',
  description: 'The roles that every organization has. They see all records, and nobody can change them.',
  tag: group.tag,
  params: {},
  scope: group.scope('list', 'read'),
  query: { kind: 'array', item: builtInSchema.items },
  responses: { 200: { kind: 'schema', component: 'BuiltInRoles', schema: builtInSchema } },
  handle: inPages<ReadRequest>(builtInSchema.items, async () => ({
    status: 200,
    text: JSON.stringify(
      builtInRoles.map((role) => ({
        id: role,
        role,
        scopes: roleScopes()(role).filter(isNeeded),
        reach: reachOf(undefined),
      })),
    ),
  })),
})

/** `isNeeded`: whether any route needs a scope. `roleScopes`: those of the built-in roles. */
export const rolePart = (isNeeded: IsNeeded, roleScopes: () => RoleScopes): Part => ({
  resources: [roles],
  routes: [
    builtInRoute(isNeeded, roleScopes),
    ...standardRoutes(roleStore, { path: group.path, operations: ['list', 'count', 'get'] }),
    createRoute(isNeeded),
    updateRoute(isNeeded),
    ...standardRoutes(roleStore, { path: group.path, operations: ['delete'] }).map((route) => ({
      ...withinRank(route),
      description: deleteDescription,
      errors: [423],
    })),
    ...standardRoutes(roleStore, { path: group.path, operations: ['restore'] }).map(withinRank),
  ],
})
