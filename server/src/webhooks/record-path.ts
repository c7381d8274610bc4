import type { Route } from '../platform/http/route.ts'
import type { Resource } from '../platform/records/declare/define.ts'

/** The path of the records of a resource; undefined if it contains more than their id. */
export function recordPathOf(routes: readonly Route[], { table }: Resource): string | undefined {
  const isRecord = ({ method, query, params, path }: Route) =>
    method === 'GET' && query.kind === 'one' && query.resource.table === table && isAlone(path, params)
  return routes.find(isRecord)?.path.replace(/\/\{\w+\}$/, '')
}

const isAlone = (path: string, params: object): boolean => path.startsWith('/v5/') && Object.keys(params).length === 1
