import { Fragment, type ReactNode } from 'react'
import { useFormatter, useLocale, useTranslations } from 'use-intl'
import { conditionOf, type Filter, type FilterNode, isNode, listOf, partsOf, takesList } from '../api/filter-tree.ts'
import { type ResourceSchema, useSchema } from '../api/schema.ts'
import { useNoun, usePropertyLabel } from '../messages/labels.ts'
import { useChoiceLabel } from './choices.ts'
import { anyAddresses } from './any-address.ts'
import { propertiesOf, propertyOf } from './columns.tsx'
import { conditionDraft, countedOf, relatedName, relativeNames } from './filter-draft.ts'
import { writeNumber } from '../ui/numbers.ts'
import { textOfItems } from './lists-as-text.ts'
import { isNumber } from './typed-values.ts'
import { ReferenceTitle } from './reference-title.tsx'
import { countryName, currencyName, formatDecimal } from './value.tsx'
import type { Property } from './property.ts'

/** `Status is active` */
export function FilterSentence({ resource, filter }: { resource: ResourceSchema; filter: Filter }) {
  const labelOf = usePropertyLabel()
  const operatorLabel = useOperatorLabel()
  const valueLabel = useFilterValue()
  const property = filteredProperty(resource, filter.field)
  // A filter by a linked record, such as a deal's contact, has no property: the id identifies the record.
  const linked = useSchema().find(({ idPrefix }) => !property && filter.value.startsWith(`${idPrefix}_`))
  const referenced = isReference(property) ? property?.resource : linked?.name
  return (
    <>
      {labelOf(property ?? { label: linked?.singularLabel ?? filter.field })}{' '}
      <em>{operatorLabel(filter.operator, property)}</em>{' '}
      <strong>
        {referenced !== undefined && filter.value.includes('_') ? (
          <ReferenceTitle resourceName={referenced} id={filter.value} />
        ) : (
          valueLabel(property, filter)
        )}
      </strong>
    </>
  )
}

export const isReference = (property: Property | undefined): boolean =>
  property?.type === 'embedded' || property?.type === 'reference'

/** The subject of a filter: for a reference, the record that the list shows instead. */
const filteredProperty = (resource: ResourceSchema, field: string): Property | undefined =>
  [...propertiesOf(resource), ...anyAddresses(resource)].find(({ filterBy }) => filterBy === field) ??
  propertyOf(resource, field)

/** Dates are before and after each other, numbers less and greater. */
export function useOperatorLabel(): (operator: string, property: Property | undefined) => string {
  const t = useTranslations('operators')
  return (operator, property) => {
    const kind = isTime(property) ? 'Date' : property && isNumber(property) ? 'Number' : ''
    const key = [`${operator}${kind}`, operator].find((name) => t.has(name as never))
    return key === undefined ? operator : t(key as never)
  }
}

export const isTime = (property: Property | undefined): boolean =>
  property?.type === 'timestamp' || property?.type === 'date'

function useFilterValue(): (property: Property | undefined, filter: Filter) => string {
  const t = useTranslations('common')
  const format = useFormatter()
  const locale = useLocale()
  const choiceLabel = useChoiceLabel()
  const relativeLabel = useRelativeLabel()
  const each = (value: string, label: (item: string) => string) => textOfItems(listOf(value).map(label))
  return (property, { operator, value }) => {
    if (relativeNames.includes(operator)) return relativeLabel(operator, value)
    if (value === 'null') return t('none')
    if (value === 'true') return t('yes')
    if (value === 'false') return t('no')
    if (property && (property.type === 'choice' || property.choiceLabels))
      return each(value, (choice) => choiceLabel(choice, property))
    if (property?.type === 'country') return each(value, (code) => countryName(code, locale))
    if (property?.type === 'currency') return each(value, (code) => currencyName(code, locale))
    if (property?.type === 'decimal' && /^-?\d+(\.\d+)?$/.test(value)) return formatDecimal(value, locale)
    if (property && (isNumber(property) || property.type === 'money'))
      return each(value, (number) => writeNumber(number, locale))
    if (isTime(property) && !Number.isNaN(Date.parse(value)))
      return format.dateTime(new Date(value), {
        dateStyle: 'medium',
        ...(value.includes('T') ? {} : { timeZone: 'UTC' }),
      })
    return takesList(operator) ? each(value, (item) => item) : value
  }
}

/** `30 days`, `this month` */
function useRelativeLabel(): (operator: string, value: string) => string {
  const t = useTranslations('filters')
  return (operator, value) => {
    const { count, unit } = countedOf(value)
    if (operator !== 'period') return t(`counted.${unit}`, { count: Number(count) })
    const key = `periods.${value}`
    return t.has(key as never) ? t(key as never) : value
  }
}

interface PartSentenceProps {
  resource: ResourceSchema
  part: FilterNode
  isInner?: boolean
}

/** A part of a filter tree of any depth: `Has no tasks with Done is No`. */
export function PartSentence({ resource, part, isInner = false }: PartSentenceProps) {
  const t = useTranslations('filters')
  const [only, ...others] = partsOf(part)
  if (!only) return t('everything')
  if (others.length > 0) return <Several resource={resource} parts={[only, ...others]} word="and" isInner={isInner} />
  const either = Array.isArray(only.or) ? only.or.filter(isNode) : undefined
  if (either) return <Several resource={resource} parts={either} word="or" isInner={isInner} />
  if (isNode(only.not))
    return t.rich('not', { part: () => <PartSentence resource={resource} part={only.not as FilterNode} isInner /> })
  const draft = conditionDraft(only)
  if (draft) return <FilterSentence resource={resource} filter={draft} />
  return <OtherCondition resource={resource} part={only} />
}

interface SeveralProps {
  resource: ResourceSchema
  parts: readonly FilterNode[]
  word: 'and' | 'or'
  isInner: boolean
}

function Several({ resource, parts, word, isInner }: SeveralProps) {
  const t = useTranslations('filters')
  if (parts.length === 0) return t('nothing')
  const joinedParts = parts.map((part, index) => (
    <Fragment key={JSON.stringify(part)}>
      {index > 0 && <em> {t(word)} </em>}
      <PartSentence resource={resource} part={part} isInner />
    </Fragment>
  ))
  return isInner && parts.length > 1 ? <>({joinedParts})</> : joinedParts
}

/** Related records, and conditions that a URL cannot express. */
function OtherCondition({ resource, part }: { resource: ResourceSchema; part: FilterNode }): ReactNode {
  const t = useTranslations('filters')
  const nounOf = useNoun()
  const labelOf = usePropertyLabel()
  const operatorLabel = useOperatorLabel()
  const schema = useSchema()
  const { name = '', operator = '', operand = null } = conditionOf(part) ?? {}
  const related = schema.find((one) => one.name === relatedName(resource, name))
  const relation = resource.relations.find((one) => one.name === name)
  if (!related || !relation || !isNode(operand)) {
    const [[field = '', value] = []] = Object.entries(part)
    const property = filteredProperty(resource, field)
    return `${labelOf(property ?? { label: field })} ${operatorLabel(operator, property)} ${JSON.stringify(operator === '' ? value : operand)}`
  }
  const noun = nounOf(relation.many ? related.label : related.singularLabel)
  const key = `${operator === 'none' ? 'none' : 'some'}${relation.many ? 'Many' : 'One'}` as const
  if (partsOf(operand).length === 0) return t(key, { name: noun })
  return t.rich('related', {
    relation: () => t(key, { name: noun }),
    part: () => <PartSentence resource={related} part={operand} />,
  })
}
