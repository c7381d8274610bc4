import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Search } from '../api/search.ts'

/** The search parameters of a section's URL; the last one wins if repeated. */
export function useSectionSearch(): Readonly<Record<string, string | undefined>> {
  const search: Search = useSearch({ strict: false })
  return Object.fromEntries(Object.entries(search).map(([name, value]) => [name, [value].flat().at(-1)]))
}

/** Goes to a section with search parameters; `replace` adds no entry to the browser's history. */
export function useGoTo() {
  const navigate = useNavigate()
  return (section: string, search: Record<string, string> = {}, options: { replace?: boolean } = {}): void =>
    void navigate({ to: '/settings/$section', params: { section }, search, ...options })
}
