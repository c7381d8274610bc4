import { isDeepStrictEqual } from 'node:util'
import type {
  ResponseBody,
  RouteResponse,
  Effect,
  ReadRoute,
  Route,
  WriteRequest,
  WriteRoute,
} from '../../http/route.ts'
import { parseOne } from '../page/parse.ts'
import { bodyShape } from '../request/body.ts'
import {
  actionOf,
  auditedChanges,
  type AuditedChange,
  camelCase,
  displayNoun,
  type Resource,
} from '../declare/define.ts'
import { encodeId } from '../../model/ids.ts'
import { readRecord } from '../page/read.ts'
import { type StandardStore, writeOne } from '../write/store.ts'
import type { WriteOptions } from '../write/write.ts'
import { countRoute, listRoute, searchCountRoute, searchRoute } from './list-routes.ts'
import type { Change, WrittenRecord } from '../declare/changes.ts'

const allOperations = ['list', 'count', 'get', 'create', 'update', 'delete', 'restore'] as const

export type StandardOperation = (typeof allOperations)[number]

export interface Placement {
  /** The collection's path, such as `/v5/contacts`. */
  path: string
  operations?: readonly StandardOperation[]
  /** Appended to the operation names if a resource is served twice. */
  suffix?: string
}

/** The routes that every resource has: list with its search, count, get, create, update, delete, restore. */
export function standardRoutes(
  store: StandardStore,
  { path, operations = allOperations, suffix = '' }: Placement,
): Route[] {
  const { resource } = store
  const group = new RouteGroup(store, path, suffix)
  const made: Record<StandardOperation, () => Route[]> = {
    // The team-scoped family has only the routes of its specification.
    list: () => [listRoute(group), ...(path.startsWith('/v5/') ? [searchRoute(group), searchCountRoute(group)] : [])],
    count: () => [countRoute(group)],
    get: () => [getRoute(group)],
    create: () => [createRoute(group)],
    update: () => [updateRoute(group)],
    delete: () => [deleteRoute(group)],
    restore: () => [restoreRoute(group)],
  }
  return operations.filter((name) => name !== 'restore' || resource.softDelete).flatMap((name) => made[name]())
}

/** The path parameter for a record's id: `contactId`, `auditEventId`. */
export const parameterOf = ({ singular }: Pick<Resource, 'singular'>): string => `${camelCase(singular)}Id`

type ChangeRoute = Omit<WriteRoute, 'summary' | 'handle'>

export class RouteGroup {
  readonly store: StandardStore
  readonly resource: Resource
  readonly path: string
  readonly recordPath: string
  readonly parameter: string
  readonly suffix: string
  readonly collectionParams: Record<string, { prefix: string; resource: string }>
  readonly recordParams: Record<string, { prefix: string; resource: string }>

  constructor(store: StandardStore, path: string, suffix = '') {
    this.store = store
    this.resource = store.resource
    this.path = path
    this.parameter = parameterOf(store.resource)
    this.recordPath = `${path}/{${this.parameter}}`
    this.suffix = suffix
    const { parent, idPrefix, singular } = store.resource
    this.collectionParams = parent
      ? { [parent.parameter]: { prefix: parent.resource.idPrefix, resource: parent.resource.singular } }
      : {}
    this.recordParams = { ...this.collectionParams, [this.parameter]: { prefix: idPrefix, resource: singular } }
  }

  scope(action: string, permission: 'read' | 'write'): string {
    return `${this.resource.singular}:${action}:${permission}`
  }

  operation(action: string, plural = false): string {
    const noun = camelCase(plural ? this.resource.name : this.resource.singular)
    return `${action}${noun.charAt(0).toUpperCase()}${noun.slice(1)}${this.suffix}`
  }

  get tag(): string {
    return this.resource.name
  }

  parentId(params: Record<string, string>): string | undefined {
    return this.resource.parent && params[this.resource.parent.parameter]
  }

  id(params: Record<string, string>): string {
    return params[this.parameter] ?? ''
  }

  get record(): ResponseBody {
    return { kind: 'record', resource: this.resource }
  }

  /** Create, update and delete have their usual methods; other actions are a POST at the record's path plus name. */
  changeRoute(action: string): ChangeRoute {
    const audited = isAuditedChange(action) ? actionOf(this.resource, action) : undefined
    const named = {
      kind: 'write',
      operation: this.operation(action),
      tag: this.tag,
      scope: this.scope(action, 'write'),
      query: { kind: 'none' },
      ...(audited !== undefined && { audited }),
    } as const
    const recordRoute = { ...named, params: this.recordParams, supportsIfMatch: true, responses: { 200: this.record } }
    switch (action) {
      case 'create': {
        const responses = { 201: this.record }
        return {
          ...named,
          method: 'POST',
          path: this.path,
          params: this.collectionParams,
          supportsIfMatch: false,
          responses,
        }
      }
      case 'update':
        return { ...recordRoute, method: 'PATCH', path: this.recordPath }
      case 'delete':
        return { ...recordRoute, method: 'DELETE', path: this.recordPath, responses: { 204: { kind: 'none' } } }
      default:
        return { ...recordRoute, method: 'POST', path: `${this.recordPath}/${action}` }
    }
  }
}

const isAuditedChange = (action: string): action is AuditedChange => action in auditedChanges

const withArticle = ({ singular }: Resource): string =>
  `${/^[aeio]/.test(singular) ? 'an' : 'a'} ${displayNoun(singular)}`

function getRoute(group: RouteGroup): ReadRoute {
  const { resource } = group
  return {
    kind: 'read',
    method: 'GET',
    path: group.recordPath,
    operation: group.operation('get'),
    summary: `Get ${withArticle(resource)}`,
    tag: group.tag,
    params: group.recordParams,
    scope: group.scope('get', 'read'),
    query: { kind: 'one', resource },
    responses: { 200: group.record },
    async handle({ db, params, query }) {
      const selection = parseOne(resource, query)
      const record = await readRecord(db, resource, group.id(params), { parentId: group.parentId(params), selection })
      return { status: 200, ...record }
    },
  }
}

function createRoute(group: RouteGroup): WriteRoute {
  const { resource, store } = group
  return {
    ...group.changeRoute('create'),
    summary: `Create ${withArticle(resource)}`,
    body: { component: `${resource.component}Create`, shape: bodyShape(resource, 'create'), required: true },
    async handle({ db, body, params, url, isSoleOperation }) {
      const options = { parentId: group.parentId(params), isSoleOperation }
      const written = await writeOne(store, db, { kind: 'create', values: body }, options)
      const location = `${url.split('?')[0]}/${encodeId(resource.idPrefix, written.id)}`
      return { status: 201, text: written.text, revision: written.revision, headers: { location } }
    },
  }
}

export async function changeOne(
  group: RouteGroup,
  { db, params, revisions }: WriteRequest,
  changeRoute: Pick<Change & { kind: 'update' }, 'values' | 'columns' | 'lifecycle'>,
  { isSoleOperation, sent }: Pick<WriteOptions, 'isSoleOperation' | 'sent'> = {},
): Promise<RouteResponse> {
  const whole: Change = { kind: 'update', id: group.id(params), revisions, ...changeRoute }
  const written = await writeOne(group.store, db, whole, { parentId: group.parentId(params), isSoleOperation, sent })
  return { status: 200, text: written.text, revision: written.revision, effect: effectOf(group.resource, written) }
}

/** The changed fields, without the time of the change: if there are none, nothing was changed. */
function effectOf({ viewOf, fields }: Resource, { before, after }: WrittenRecord): Effect {
  const stored = Object.entries(viewOf?.fields ?? fields).filter(([, field]) => field.computed === undefined)
  const changed = stored.map(([name]) => name).filter((name) => !isDeepStrictEqual(before?.[name], after[name]))
  return changed.length === 0 ? 'none' : { fields: changed.filter((name) => name !== 'updatedAt') }
}

function updateRoute(group: RouteGroup): WriteRoute {
  const { resource } = group
  return {
    ...group.changeRoute('update'),
    summary: `Change ${withArticle(resource)}`,
    description: 'JSON Merge Patch (RFC 7396): only fields that are sent change; null clears a field.',
    body: { component: `${resource.component}Update`, shape: bodyShape(resource, 'update'), required: true },
    handle: (request) => changeOne(group, request, { values: request.body }, request),
  }
}

function deleteRoute(group: RouteGroup): WriteRoute {
  const { resource } = group
  return {
    ...group.changeRoute('delete'),
    summary: `Delete ${withArticle(resource)}`,
    description: `The record disappears from all responses, and its unique values can be used again. It can be restored within ${resource.restorableDays} days.`,
    async handle(request) {
      await changeOne(group, request, { values: {}, lifecycle: 'delete' }, request)
      return { status: 204 }
    },
  }
}

function restoreRoute(group: RouteGroup): WriteRoute {
  const { resource } = group
  return {
    ...group.changeRoute('restore'),
    summary: `Restore a deleted ${displayNoun(resource.singular)}`,
    description: `Within ${resource.restorableDays} days of its deletion; 409 if another record has taken one of its unique values.`,
    async handle(request) {
      const response = await changeOne(group, request, { values: {}, lifecycle: 'restore' }, request)
      return { ...response, effect: {} }
    },
  }
}
