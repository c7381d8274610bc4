import { useCallback } from 'react'
import { useTranslations } from 'use-intl'
import { type ResourceSchema, useSchema } from '../api/schema.ts'
import { useLabel, usePropertyLabel } from '../messages/labels.ts'
import { type Option, SelectField } from '../ui/field.tsx'
import { anyAddresses } from './any-address.ts'
import { propertiesOf } from './columns.tsx'
import type { ConditionDraft, Draft, FindResource } from './filter-draft.ts'
import { useOperatorLabel } from './filter-sentence.tsx'
import { emptyFilter, FilterValue, operatorsOf, valueFor } from './filter-value.tsx'
import type { Property } from './property.ts'

/** Finds resources, including those without a list. */
export function useFindResource(): FindResource {
  const schema = useSchema()
  return useCallback((name) => schema.find((resource) => resource.name === name), [schema])
}

/** The properties that a filter can test; after a primary address, all addresses. */
export function filterable(resource: ResourceSchema): Property[] {
  const any = anyAddresses(resource)
  return propertiesOf(resource)
    .flatMap((property) => [property, ...any.filter(({ field }) => field === property.field)])
    .filter(({ operators }) => operators.length > 0)
}

export const emptyCondition = ([property]: readonly Property[]): ConditionDraft => ({
  kind: 'condition',
  ...emptyFilter(property),
})

interface SubjectFieldProps {
  resource: ResourceSchema
  draft: Draft
  /** Can the row become a group? */
  canGroup?: boolean
  onChange(draft: Draft): void
}

const groupName = 'group'
const relationPrefix = 'relation:'

/** Selects the subject of a filter: a property, related records, or several conditions. */
export function SubjectField({ resource, draft, canGroup, onChange }: SubjectFieldProps) {
  const t = useTranslations('filters')
  const list = useTranslations('list')
  const labelOf = useLabel()
  const propertyLabel = usePropertyLabel()
  const find = useFindResource()
  const properties = filterable(resource)
  const relations = resource.relations.filter((relation) => find(relation.resource)?.permissions.list)
  const options: Option[] = [
    ...properties.map((one) => ({ value: one.filterBy, label: propertyLabel(one), group: t('properties') })),
    ...relations.map(({ name, label }) => ({
      value: `${relationPrefix}${name}`,
      label: labelOf(label),
      group: t('relations'),
    })),
    ...(canGroup ? [{ value: groupName, label: t('group'), group: t('combinations') }] : []),
  ]
  const choose = (value: string) => {
    const property = properties.find(({ filterBy }) => filterBy === value)
    if (value === groupName) {
      const rows = draft.kind === 'group' ? draft.rows : [draft, emptyCondition(properties)]
      onChange({ kind: 'group', match: 'or', rows })
    } else if (property) onChange({ kind: 'condition', ...emptyFilter(property) })
    else {
      const relation = value.slice(relationPrefix.length)
      onChange({ kind: 'relation', relation, quantifier: 'some', match: 'and', conditions: [] })
    }
  }
  const value =
    draft.kind === 'group' ? groupName : draft.kind === 'relation' ? `${relationPrefix}${draft.relation}` : draft.field
  return (
    <SelectField
      label={list('property')}
      value={value}
      options={options}
      onChange={(event) => choose(event.target.value)}
    />
  )
}

interface ConditionFieldsProps {
  properties: readonly Property[]
  condition: ConditionDraft
  onChange(condition: ConditionDraft): void
}

/** Operator and value of a condition. */
export function ConditionFields({ properties, condition, onChange }: ConditionFieldsProps) {
  const t = useTranslations('list')
  const operatorLabel = useOperatorLabel()
  const property = properties.find(({ filterBy }) => filterBy === condition.field)
  const change = (operator: string) => onChange({ ...condition, operator, value: valueFor(operator, condition) })
  return (
    <>
      <SelectField
        label={t('condition')}
        value={condition.operator}
        options={operatorsOf(property).map((operator) => ({
          value: operator,
          label: operatorLabel(operator, property),
        }))}
        onChange={(event) => change(event.target.value)}
      />
      <FilterValue
        key={condition.field}
        property={property}
        filter={condition}
        onChange={(value) => onChange({ ...condition, value })}
      />
    </>
  )
}
