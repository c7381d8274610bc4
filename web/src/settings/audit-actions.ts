import { useQuery } from '@tanstack/react-query'
import { type Schemas, send } from '../api/client.ts'

type AuditActions = Schemas['AuditActions']

/** All actions that the audit log records. */
export function useActions(): AuditActions {
  const actions = useQuery({
    queryKey: ['audit-log', 'actions'],
    queryFn: async () => (await send<AuditActions>('GET', '/v5/audit-log/actions')).body,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return actions.data ?? []
}
