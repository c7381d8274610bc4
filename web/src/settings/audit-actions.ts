import { useQuery } from '@tanstack/react-query'
import { send } from '../api/client.ts'

/** An action of the audit log and what it means. */
export interface AuditAction {
  action: string
  description: string
}

/** All actions that the audit log records. */
export function useActions(): readonly AuditAction[] {
  const actions = useQuery({
    queryKey: ['audit-log', 'actions'],
    queryFn: async () => (await send<AuditAction[]>('GET', '/v5/audit-log/actions')).body,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return actions.data ?? []
}
