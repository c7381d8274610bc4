import { useTranslations } from 'use-intl'
import { Tag } from '../../ui/tag.tsx'
import { statusTints, type Webhook } from './data.ts'

/** The status; of one that is enabled also whether its receiver fails. */
export function StatusTag({ webhook: { status, health } }: { webhook: Webhook }) {
  const t = useTranslations('settings.webhooks')
  const isFailing = status === 'enabled' && health.failingSince !== null
  return (
    <Tag tint={isFailing ? 'orange' : statusTints[status]} hasDot>
      {t(isFailing ? 'failing' : `status.${status}`)}
    </Tag>
  )
}
