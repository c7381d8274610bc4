import { Link } from '@tanstack/react-router'
import { Maximize2, X } from 'lucide-react'
import { useTranslations } from 'use-intl'
import { type ResourceSchema, titleOf } from '../api/schema.ts'
import { buttonClasses, IconButton } from '../ui/button.tsx'
import { useOpenRecord } from '../live/places.ts'
import { Failure } from '../ui/empty-state.tsx'
import { PeopleHere } from './people-here.tsx'
import { PropertyList } from './property-list.tsx'
import { useRecord } from './use-record.ts'
import styles from './list.module.css'
import page from '../ui/page.module.css'

interface PeekPanelProps {
  resource: ResourceSchema
  id: string
  onClose(): void
}

/** The active record next to the list. The focus stays in the list, whose arrow keys change the record. */
export function PeekPanel({ resource, id, onClose }: PeekPanelProps) {
  const t = useTranslations('list')
  const common = useTranslations('common')
  const { data, error, refetch } = useRecord(resource, id)
  useOpenRecord(id)
  const title = data ? titleOf(resource, data) : ''
  return (
    <aside className={styles.peek} aria-label={t('peek', { title })}>
      <div className={page.bar}>
        <h2 className={page.title}>
          <span className="truncate">{title}</span>
        </h2>
        <PeopleHere recordId={id} />
        <Link
          to="/$resource/$recordId"
          params={{ resource: resource.name, recordId: id }}
          className={buttonClasses('quiet')}
          aria-label={t('openNamed', { title })}
        >
          <Maximize2 size={15} strokeWidth={1.75} aria-hidden />
        </Link>
        <IconButton icon={X} label={common('close')} shortcut="Escape" onClick={onClose} />
      </div>
      <div className={styles.peekBody}>
        {error && !data ? <Failure error={error} onRetry={() => void refetch()} /> : undefined}
        {data && <PropertyList resource={resource} record={data} canEdit={resource.permissions.update} />}
      </div>
    </aside>
  )
}
