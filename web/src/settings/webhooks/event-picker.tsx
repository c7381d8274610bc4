import { useState } from 'react'
import { useTranslations } from 'use-intl'
import type { ResourceSchema } from '../../api/schema.ts'
import { useLabel } from '../../messages/labels.ts'
import { CheckField, FieldGroup } from '../../ui/field.tsx'
import { Panel } from '../../ui/page.tsx'
import styles from '../scope-picker.module.css'
import { allOf, everything, typesOf, useEventLabel, useFollowable } from './event-types.ts'

interface EventPickerProps {
  /** Types and patterns, as the API has them. */
  events: readonly string[]
  error: string | undefined
  onChange(events: readonly string[]): void
}

/** Selects types of events: everything, all of a resource, or single kinds. */
export function EventPicker({ events, error, onChange }: EventPickerProps) {
  const t = useTranslations('settings.webhooks')
  const resources = useFollowable()
  const toggle = (pattern: string, isOn: boolean) =>
    onChange(
      isOn ? [...events.filter((one) => !isWithin(one, pattern)), pattern] : events.filter((one) => one !== pattern),
    )
  const isAll = events.includes(everything)
  return (
    <Panel title={t('events')} description={t('eventsText')}>
      <FieldGroup label={t('eventTypes')} error={error}>
        <CheckField
          label={t('allEvents')}
          hint={t('allEventsHint')}
          checked={isAll}
          onChange={(event) => toggle(everything, event.target.checked)}
        />
        <div className={styles.groups}>
          {resources.map((resource) => (
            <ResourceEvents key={resource.name} {...{ resource, events, isAll }} onToggle={toggle} />
          ))}
        </div>
      </FieldGroup>
    </Panel>
  )
}

/** Does the wider pattern include the other one? */
const isWithin = (pattern: string, wider: string): boolean =>
  wider === everything || (wider.endsWith('.*') && pattern.startsWith(wider.slice(0, -1)))

interface ResourceEventsProps {
  resource: ResourceSchema
  events: readonly string[]
  isAll: boolean
  onToggle(pattern: string, isOn: boolean): void
}

function ResourceEvents({ resource, events, isAll, onToggle }: ResourceEventsProps) {
  const t = useTranslations('settings.webhooks')
  const labelOf = useEventLabel()
  const resourceLabel = useLabel()
  const all = allOf(resource)
  const isWhole = isAll || events.includes(all)
  const types = typesOf(resource)
  const chosen = isWhole ? types.length : types.filter((type) => events.includes(type)).length
  // Later choices do not fold it.
  const [wasChosen] = useState(chosen > 0)
  return (
    <details className={styles.group} open={wasChosen}>
      <summary className={styles.summary}>
        <span className={styles.resource}>{resourceLabel(resource.label)}</span>
        <span className={styles.count}>{chosen > 0 && t('chosenOf', { count: chosen, total: types.length })}</span>
      </summary>
      <div className={styles.scopes}>
        <CheckField
          label={labelOf(all)}
          checked={isWhole}
          disabled={isAll}
          onChange={(event) => onToggle(all, event.target.checked)}
        />
        {types.map((type) => (
          <CheckField
            key={type}
            label={labelOf(type)}
            checked={isWhole || events.includes(type)}
            disabled={isWhole}
            onChange={(event) => onToggle(type, event.target.checked)}
          />
        ))}
      </div>
    </details>
  )
}
