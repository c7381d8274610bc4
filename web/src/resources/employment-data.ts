import { queryOptions } from '@tanstack/react-query'
import { useFormatter, useTranslations } from 'use-intl'
import { type Schemas, send } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import type { RecordData } from '../api/schema.ts'
import { about } from '../live/refetch.ts'

export type Employment = Schemas['Employment']

/** All jobs of a contact. */
export const employmentsQuery = (contactId: string) =>
  queryOptions({
    queryKey: ['employments', contactId],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ limit: '100' })
      return (await send<Employment[]>('GET', `/v5/contacts/${contactId}/employments`, { query, signal })).body
    },
    meta: { follows: about(contactId, 'employment') },
  })

const shownJobs = 20

interface Job {
  employment: Employment
  person: RecordData | undefined
}

/** The newest jobs at a company, with the contacts who have or had them. */
export const jobsQuery = (companyId: string) =>
  queryOptions({
    queryKey: ['employments', companyId],
    queryFn: async ({ signal }): Promise<{ jobs: Job[]; isComplete: boolean }> => {
      const query = new URLSearchParams({ 'filter.companyId.equals': companyId, limit: String(shownJobs) })
      const { body } = await send<Employment[]>('GET', '/v5/employments', { query, signal })
      const ids = [...new Set(body.map(({ contactId }) => contactId))]
      const people = ids.length === 0 ? [] : await readPeople(ids, signal)
      const jobs = body.map((employment) => ({
        employment,
        person: people.find(({ id }) => id === employment.contactId),
      }))
      return { jobs: jobs.filter(({ person }) => person), isComplete: body.length < shownJobs }
    },
    meta: { follows: about(companyId, 'employment') },
  })

async function readPeople(ids: readonly string[], signal: AbortSignal): Promise<RecordData[]> {
  const query = new URLSearchParams({ 'filter.id.in': ids.join(','), limit: String(shownJobs) })
  return (await send<RecordData[]>('GET', '/v5/contacts', { query, signal })).body
}

/** Reloads the jobs of contacts and companies. */
export const employmentsChanged = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ['employments'] })

/** The months of a job: `Mar 2021 – present`. */
export function usePeriod(): (employment: Employment) => string {
  const t = useTranslations('record')
  const format = useFormatter()
  const month = (text: string | null) =>
    text === null ? undefined : format.dateTime(new Date(`${text}-15T12:00:00Z`), { year: 'numeric', month: 'short' })
  return ({ start, end, current }) => [month(start), current ? t('present') : month(end)].filter(Boolean).join(' – ')
}
