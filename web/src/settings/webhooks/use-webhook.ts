import { useQuery } from '@tanstack/react-query'
import { send } from '../../api/client.ts'
import { followsSection } from '../paged.tsx'
import { intervals, path, type Webhook } from './data.ts'

/** A webhook. The health of its receiver is not in the feed, and therefore refetched. */
export const useWebhook = (webhookId: string) =>
  useQuery({
    queryKey: ['webhooks', webhookId],
    queryFn: async () => (await send<Webhook>('GET', `${path}/${webhookId}`)).body,
    meta: followsSection('webhooks'),
    refetchInterval: intervals.idle,
  })
