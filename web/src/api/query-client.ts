import { QueryClient } from '@tanstack/react-query'
import { ApiError } from './error.ts'

/** Old data stays on the screen while it is fetched again. A refusal is final; a lost connection is tried again. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // Requests themselves wait for the connection (connection.ts), also for a service on this machine.
      networkMode: 'always',
      retry: (count, error) => !(error instanceof ApiError && error.status < 500) && count < 2,
    },
  },
})

const forgetters = new Set<() => void>()

/** Calls this when everything about a person or an organization has to be forgotten. */
export function whenForgetting(forget: () => void): void {
  forgetters.add(forget)
}

/** Forgets everything that was loaded: another person or organization is next. */
export function forgetAll(): void {
  queryClient.clear()
  for (const forget of forgetters) forget()
}
