import { queryOptions } from '@tanstack/react-query'
import { type Schemas, send } from '../api/client.ts'

type Team = Pick<Schemas['Team'], 'id' | 'name' | 'isDefault'>

/** The names of all teams by id, the default team first. */
export const teamsQuery = queryOptions({
  queryKey: ['teams', 'names'],
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, string>> => {
    const query = new URLSearchParams({ limit: '100', sort: 'asc', 'select[]': 'id' })
    for (const field of ['name', 'isDefault']) query.append('select[]', field)
    const { body } = await send<Team[]>('GET', '/v5/teams', { query, signal })
    const teams = body.toSorted((a, b) => Number(b.isDefault) - Number(a.isDefault))
    return new Map(teams.map(({ id, name }) => [id, name]))
  },
  staleTime: 60_000,
})
