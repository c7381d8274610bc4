import type { Schemas, Whole } from '../../api/client.ts'
import type { Tint } from '../../ui/tag.tsx'

export type Webhook = Schemas['Webhook']
/** With its secret, which the service returns once. */
export type WebhookWithSecret = Schemas['WebhookWithSecret']
export type Delivery = Whole<Schemas['WebhookDeliverySelection']>
export type DeliveryDetails = Schemas['WebhookDeliveryDetails']

export const section = 'webhooks'
export const path = '/v5/webhooks'
export const deliveriesPath = (webhookId: string): string => `${path}/${webhookId}/deliveries`

export const statusTints: Record<Webhook['status'], Tint> = { enabled: 'green', paused: 'gray', disabled: 'red' }

export const deliveryTints: Record<Delivery['status'], Tint> = {
  pending: 'blue',
  delivering: 'blue',
  delivered: 'green',
  retrying: 'orange',
  failed: 'red',
  skipped: 'gray',
}
export const deliveryStatuses = Object.keys(deliveryTints) as Delivery['status'][]

/** What people call a webhook: its description, otherwise its address without the scheme. */
export const nameOf = ({ description, url }: Pick<Webhook, 'description' | 'url'>): string =>
  description ?? url.replace(/^https?:\/\//, '')

/** Milliseconds between two refetches: soon while a delivery runs, and otherwise for what comes next. */
export const intervals = { running: 1000, idle: 2000 } as const

/** Will this delivery change within a minute, without anybody doing anything? */
export const isRunning = ({ status, nextAttemptAt }: Pick<Delivery, 'status' | 'nextAttemptAt'>): boolean =>
  status === 'pending' ||
  status === 'delivering' ||
  (status === 'retrying' && nextAttemptAt !== null && Date.parse(nextAttemptAt) < Date.now() + 60_000)
