import { useQuery } from '@tanstack/react-query'
import { type Schemas, sendAll } from '../api/client.ts'

type AuditActions = Schemas['AuditActions']

/** All actions of the audit log. */
export function useActions(): AuditActions {
  const actions = useQuery({
    queryKey: ['audit-log', 'actions'],
    queryFn: () => sendAll<AuditActions[number]>('/v5/audit-log/actions'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return actions.data ?? []
}
