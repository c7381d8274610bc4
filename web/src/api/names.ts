import { send } from './client.ts'
import { queryClient } from './query-client.ts'
import { type RecordData, type ResourceSchema, schemaQuery, titleOf } from './schema.ts'

/** Display names by id. Records that are deleted, or that the person may not read, are missing. */
export type Names = Readonly<Record<string, string>>

const limit = 100

/** Collects everything that looks like an id, anywhere in a value; in texts, those of mentions. */
const idsIn = (value: unknown): string[] => [
  ...new Set(JSON.stringify(value).match(/(?<=")[a-z]{3}_[0-9a-f]{32}(?=")|(?<=\]\()usr_[0-9a-f]{32}(?=\))/g)),
]

/** Fetches the names of all records that a value refers to: one request per resource. */
export async function readNames(value: unknown): Promise<Names> {
  const schema = await queryClient.ensureQueryData(schemaQuery)
  const ids = idsIn(value)
  const read = schema
    .filter(({ path, permissions }) => permissions.list && !path.includes('{'))
    .map(async (resource): Promise<Names> => {
      const own = ids.filter((id) => id.startsWith(`${resource.idPrefix}_`)).toSorted()
      return own.length === 0 ? {} : queryClient.fetchQuery(namesQuery(resource, own))
    })
  return Object.assign({}, ...(await Promise.all(read))) as Names
}

const namesQuery = (resource: ResourceSchema, ids: readonly string[]) => ({
  queryKey: ['names', resource.name, ids],
  queryFn: async (): Promise<Names> => {
    const chunks = Array.from({ length: Math.ceil(ids.length / limit) }, (_, index) =>
      ids.slice(index * limit, (index + 1) * limit),
    )
    const answers = await Promise.all(
      chunks.map((chunk) => {
        const query = new URLSearchParams({ 'filter.id.in': chunk.join(','), limit: String(limit) })
        return send<RecordData[]>('GET', resource.path, { query })
      }),
    )
    return Object.fromEntries(
      answers.flatMap(({ body }) => body.map((record) => [record.id, titleOf(resource, record)])),
    )
  },
  staleTime: 60_000,
})
