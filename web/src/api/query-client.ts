import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './error.ts'

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
