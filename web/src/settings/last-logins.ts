import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'
import { useMay } from '../api/permissions.ts'
import type { AuditEvent } from './records.ts'

const pageSize = 100

/** The last log-in of each person, null for never; undefined for callers without access to the audit log. */
export function useLastLogins(userIds: readonly string[]): Readonly<Record<string, string | null>> | undefined {
  const may = useMay()
  return useQuery({
    queryKey: ['last-logins', userIds],
    queryFn: () => readLastLogins(userIds),
    enabled: may('audit-event:list:read') && userIds.length > 0,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  }).data
}

async function readLastLogins(userIds: readonly string[]): Promise<Record<string, string | null>> {
  const events = await readLogins({ 'filter.actorId.in': userIds.join(',') }, pageSize)
  const latest = new Map<string, string>()
  for (const { actorId, createdAt } of events)
    if (actorId !== null && !latest.has(actorId)) latest.set(actorId, createdAt)
  // People who logged in before the events on this page.
  const others = events.length < pageSize ? [] : userIds.filter((id) => !latest.has(id))
  await Promise.all(
    others.map(async (id) => {
      const [event] = await readLogins({ 'filter.actorId.equals': id }, 1)
      if (event) latest.set(id, event.createdAt)
    }),
  )
  return Object.fromEntries(userIds.map((id) => [id, latest.get(id) ?? null]))
}

async function readLogins(filter: Record<string, string>, limit: number): Promise<AuditEvent[]> {
  const query = new URLSearchParams({ 'filter.action.equals': 'login.succeeded', ...filter, limit: String(limit) })
  return (await send<AuditEvent[]>('GET', '/v5/audit-log', { query })).body
}
