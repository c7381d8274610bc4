import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import type { ApiKey, Member } from './records.ts'

/** Names of people and API keys by id, without former members. */
export type Actors = Readonly<Record<string, string>>

const limit = 100

/** The names of the members. */
export function useActors(ids: readonly string[]): Actors {
  const wanted = [...new Set(ids)].toSorted()
  const actors = useQuery({
    queryKey: ['actors', wanted],
    queryFn: async () => {
      const people = wanted.filter((id) => id.startsWith('usr_'))
      const keys = wanted.filter((id) => id.startsWith('key_'))
      const [members, apiKeys] = await Promise.all([
        readByIds<Member>('/v5/members', people),
        readByIds<ApiKey>('/v5/api-keys', keys),
      ])
      return Object.fromEntries([
        ...members.map(({ id, person }) => [id, person.name] as const),
        ...apiKeys.map(({ id, name }) => [id, name] as const),
      ])
    },
    enabled: wanted.length > 0,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
  return actors.data ?? {}
}

async function readByIds<T>(path: string, ids: readonly string[]): Promise<T[]> {
  const chunks = Array.from({ length: Math.ceil(ids.length / limit) }, (_, index) =>
    ids.slice(index * limit, (index + 1) * limit),
  )
  const answers = await Promise.all(
    chunks.map((chunk) => {
      const query = new URLSearchParams({ 'filter.id.in': chunk.join(','), limit: String(limit) })
      return send<T[]>('GET', path, { query })
    }),
  )
  return answers.flatMap(({ body }) => body)
}
