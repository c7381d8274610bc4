import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './error.ts'

/** What happened to a record, in this page or anywhere else. */
export interface LiveEvent {
  /** The singular noun of the resource, as in scopes: `contact`. */
  resource: string
  kind: string
  recordId: string
  /** The ids that the event names: of the record, of others in its values, of the import that caused it. */
  ids: readonly string[]
  /** The changed fields. */
  fields: readonly string[]
  /** This page made the change, and shows it already. */
  isOwn: boolean
}

/** Does an event change what a query has read? `mentions`: whether an id occurs in its data. */
export type Follows = (event: LiveEvent, mentions: (id: string) => boolean) => boolean

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: {
      /** Without it, nothing refetches the query when others change something. */
      follows?: Follows
      /** Not while this page stores a change, which the response would revert on the screen. */
      waits?: boolean
      [other: string]: unknown
    }
  }
}

/** Old data stays on the screen during a refetch. Refusals are final; lost connections are retried. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // Requests wait for the connection themselves (connection.ts), even for a service on this machine.
      networkMode: 'always',
      retry: (count, error) => !(error instanceof ApiError && error.status < 500) && count < 2,
    },
  },
})

/**
 * Call it before showing a change that is not stored yet: the answer to an earlier request would revert it. Refetch when the
 * change is stored or refused.
 */
export const ignoreAnswers = (queryKey: readonly unknown[]): void =>
  void queryClient.cancelQueries({ queryKey, exact: true })

const forgetters = new Set<() => void>()

/** Registers a callback for when everything about a person or an organization must be forgotten. */
export function whenForgetting(forget: () => void): void {
  forgetters.add(forget)
}

/** Forgets all loaded data, because another person or organization follows. */
export function forgetAll(): void {
  queryClient.clear()
  for (const forget of forgetters) forget()
}
