import { Link } from '@tanstack/react-router'
import { EyeOff } from 'lucide-react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../api/schema.ts'
import { useNoun } from '../messages/labels.ts'
import { buttonClasses } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'

/** Shown instead of a list whose view was deleted or belongs to somebody else. */
export function MissingView({ resource }: { resource: ResourceSchema }) {
  const t = useTranslations('views')
  const nounOf = useNoun()
  return (
    <div role="alert">
      <EmptyState icon={EyeOff} title={t('missing')} text={t('missingText')}>
        <Link to="/$resource" params={{ resource: resource.name }} search={{}} className={buttonClasses()}>
          {t('showAll', { name: nounOf(resource.label) })}
        </Link>
      </EmptyState>
    </div>
  )
}
