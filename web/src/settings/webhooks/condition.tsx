import { useTranslations } from 'use-intl'
import { type Filter, type FilterNode, joined, partOf, partsOf } from '../../api/filter-tree.ts'
import type { ResourceSchema } from '../../api/schema.ts'
import { FieldGroup } from '../../ui/field.tsx'
import { Panel } from '../../ui/page.tsx'
import { FilterBar } from '../../views/filter-bar.tsx'
import settings from '../settings.module.css'
import { ChangedFields } from './changed-fields.tsx'
import type { Webhook } from './data.ts'
import { onlyResourceOf } from './event-types.ts'

/** Which events of a resource are sent. */
export interface Condition {
  /** The resource that it is about; for another one, it does not hold. */
  resource: string | undefined
  /** The conditions that a URL can express, and the other parts of the filter. All must match. */
  filters: readonly Filter[]
  parts: readonly FilterNode[]
  changedFields: readonly string[]
}

const noCondition = { filters: [], parts: [], changedFields: [] } as const

export function conditionOf(webhook: Webhook | undefined, schema: readonly ResourceSchema[]): Condition {
  if (!webhook) return { resource: undefined, ...noCondition }
  const resource = onlyResourceOf(webhook.events, schema)?.name
  const parts = partsOf(webhook.filter as FilterNode)
  return { resource, filters: [], parts, changedFields: webhook.changedFields }
}

/** The values of the API; without a condition if the events are of several resources. */
export function selectionOf(
  condition: Condition,
  resource: ResourceSchema | undefined,
): { filter: FilterNode; changedFields: readonly string[] } {
  if (!resource || condition.resource !== resource.name) return { filter: {}, changedFields: [] }
  const { filters, parts, changedFields } = condition
  return { filter: joined([...filters.map((filter) => partOf(resource, filter)), ...parts]), changedFields }
}

interface RecordConditionProps {
  /** The only resource of the chosen events. */
  resource: ResourceSchema | undefined
  condition: Condition
  errorOf(field: string): string | undefined
  onChange(condition: Condition): void
}

/** The filter on the record, and the fields that an update must have changed. */
export function RecordCondition({ resource, condition, errorOf, onChange }: RecordConditionProps) {
  const t = useTranslations('settings.webhooks')
  const [filterError, fieldsError] = [errorOf('filter'), errorOf('changedFields')]
  if (!resource) return <Panel title={t('conditions')} description={t('conditionNeedsOne')} />
  const current: Condition =
    condition.resource === resource.name ? condition : { resource: resource.name, ...noCondition }
  return (
    <Panel title={t('conditions')} description={t('conditionText')}>
      <FieldGroup label={t('condition')} error={filterError}>
        <div className={settings.buttons}>
          <FilterBar
            resource={resource}
            state={current}
            onChange={(changed) => onChange({ ...current, ...changed(current) })}
          />
        </div>
      </FieldGroup>
      <ChangedFields
        resource={resource}
        names={current.changedFields}
        error={fieldsError}
        onChange={(changedFields) => onChange({ ...current, changedFields })}
      />
    </Panel>
  )
}
