import { queryOptions, useSuspenseQuery } from '@tanstack/react-query'
import { type Schemas, sendAll } from './client.ts'
import { useMe } from './me.ts'

/** A scope of the API, with a sentence that says what it allows. */
export type Scope = Schemas['Scopes'][number]

const prefix = 'urn:service:'

export const scopesQuery = queryOptions({
  queryKey: ['scopes'],
  queryFn: () => sendAll<Scope>('/v5/scopes'),
  staleTime: Number.POSITIVE_INFINITY,
})

export const useScopes = (): readonly Scope[] => useSuspenseQuery(scopesQuery).data

/** Does one of the held scopes cover this one? Wildcards do not cover guarded resources. */
export function covers(
  held: readonly string[],
  wanted: Pick<Scope, 'resource' | 'action' | 'permission' | 'guarded'>,
): boolean {
  return held.some((text) => {
    const [resource, action, permission] = text.slice(prefix.length).split(':')
    return (
      (resource === wanted.resource || (resource === '*' && !wanted.guarded)) &&
      (action === '*' || action === wanted.action) &&
      (permission === '*' || permission === wanted.permission)
    )
  })
}

/** Returns a function that checks the person's permissions: `may('member:update:write')`. */
export function useMay(): (action: string) => boolean {
  const scopes = useScopes()
  const held = useMe().credential.scopes
  return (action) => {
    const wanted = scopes.find(({ scope }) => scope === prefix + action)
    return wanted !== undefined && covers(held, wanted)
  }
}
