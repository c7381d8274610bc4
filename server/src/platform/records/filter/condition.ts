import { identifier, join, Parameter, raw, type Sql, sql } from '../../model/sql.ts'
import { columnOf, type Resource } from '../declare/define.ts'
import { addressesSql, furtherText } from '../declare/address-lists.ts'
import { dayOf, isPattern, type Operand, type TimeSpan, textsOf, type Condition } from './operand.ts'
import { withoutFoldedMarks } from './folded-marks.ts'
import type { Operator } from './operators.ts'
import { anyContained, asJson, containedJson } from './contained-json.ts'
import { organizationOf, reachConditions, type Scope } from './scope.ts'
import { linkAlias, type Target } from './target.ts'
import type { Field } from '../declare/field.ts'

/** Conditions that no record meets, and that every record meets. */
export const never = sql`false`
export const always = sql`true`

/** Boolean and never null: equals + not = all. `orderedBy`: the sort field, if only the beginning is read. */
export function conditionSql(resource: Resource, condition: Condition, scope: Scope, orderedBy?: string): Sql {
  const { target, operator, operand } = condition
  if (target.link) return linkCondition(resource, condition, target.link, scope)
  if (target.list) return listCondition(resource, condition, target.list, scope)
  if (operand.kind === 'null') return nullCondition(target, operator)
  if (operand.kind === 'relative') throw new Error(`the relative date of ${target.name} was not replaced`)
  const match = matchSql(resource, condition, orderedBy)
  const contained = containedJson(condition)
  return contained.length > 0 ? sql`(${anyContained(resource, target, contained)} and ${match})` : match
}

function matchSql(resource: Resource, { target, operator, operand }: Condition, orderedBy?: string): Sql {
  switch (target.field.filter) {
    case 'id':
      return idCondition(target, operator, operand)
    case 'number':
      return numberCondition(target, operator, operand)
    case 'date':
      return operand.kind === 'span' ? spanCondition(target.value, operator, operand.span) : never
    case 'array':
      return arrayCondition(target, operator, operand)
    case 'boolean':
      return booleanCondition(target, operator, operand)
    case 'properties':
      return propertyCondition(resource, target, operator, operand)
    default:
      return textCondition(target, operator, operand, orderedBy)
  }
}

/** Does any link of the record match? A negated filter matches if none does: equals + not = all, here too. */
function linkCondition(
  resource: Resource,
  condition: Condition,
  { table, column, otherColumn, other }: NonNullable<Target['link']>,
  scope: Scope,
): Sql {
  const { link: _, ...target } = condition.target
  const { isNegated, operator } = positive(condition)
  const match = conditionSql(resource, { ...condition, target, operator }, scope)
  if (match === never) return isNegated ? always : never
  // A link to a record that is deleted or out of reach does not exist.
  const bounds = [
    ...(other.softDelete ? [raw('other.deleted_at is null')] : []),
    ...reachConditions(other, scope, raw('other')),
  ]
  const organization = organizationOf(scope, sql`${raw(target.alias)}.organization_id`)
  const isReached =
    bounds.length === 0
      ? raw('')
      : sql` and exists (select from ${identifier(other.table)} other
        where other.organization_id = ${organization}
          and other.id = ${raw(linkAlias)}.${identifier(otherColumn)} and ${join(bounds, ' and ')})`
  const links = sql`select from ${identifier(table)} ${raw(linkAlias)}
    where ${raw(linkAlias)}.organization_id = ${organization}
      and ${raw(linkAlias)}.${identifier(column)} = ${raw(target.alias)}.id and ${raw(linkAlias)}.deleted_at is null and ${match}${isReached}`
  return isNegated ? sql`(not exists (${links}))` : sql`(exists (${links}))`
}

const negative = { not: true, notIn: true }
const opposite = { equals: 'not', not: 'equals', notIn: 'in' } as const

/** The operator that one of several values must meet, and whether none may. */
function positive({ operator, operand }: Condition): { isNegated: boolean; operator: Operator } {
  const isNegated = operand.kind === 'null' ? operator === 'equals' : operator in negative
  return { isNegated, operator: isNegated ? opposite[operator as keyof typeof opposite] : operator }
}

/** Does any address of the record match? As with links, a negated filter matches if none does. */
function listCondition(
  resource: Resource,
  condition: Condition,
  { name, of }: NonNullable<Target['list']>,
  scope: Scope,
): Sql {
  // The indexed columns decide: an entry shows no key.
  const narrowed = narrowedList(resource, condition, { name, of })
  if (ignoresCase(condition.operator)) return narrowed ?? never
  const { list: _, ...target } = condition.target
  const { isNegated, operator } = positive(condition)
  const match = conditionSql(resource, { ...condition, target: { ...target, isOwn: false }, operator }, scope)
  const any = sql`exists (select from unnest(${addressesSql(of, name, raw(target.alias))}) as entry(address) where ${match})`
  if (isNegated) return sql`(not ${any})`
  return narrowed ? sql`(${narrowed} and ${any})` : sql`(${any})`
}

const ignoresCase = (operator: Operator): boolean => operator === 'equalsIgnoreCase'

/** A condition that every match meets and indexes serve, if there is one. */
function narrowedList(
  { searchFurther }: Resource,
  { target, operator, operand }: Condition,
  { name, of }: NonNullable<Target['list']>,
): Sql | undefined {
  const record = raw(target.alias)
  const { lookup } = target.field
  const values = textsOf(operand)
  if (values.length === 0) return undefined
  if (lookup && !isPattern(operator)) {
    const [key, column] = [sql`${record}.${raw(lookup.column)}`, sql`${record}.${identifier(columnOf(name))}`]
    const further = values.map((value) => (ignoresCase(operator) ? { key: lookup.key(value) } : { [of.item]: value }))
    const contained = further.map((entry) => sql`${column} @> ${JSON.stringify([entry])}::jsonb`)
    return sql`(${key} is not null and ${key} = any(${values.map(lookup.key)}::text[])
      or ${column} is not null and (${join(contained, ' or ')}))`
  }
  if (!isPattern(operator) || !searchFurther) return undefined
  const inside = sql`'%' || like_literal(${new Parameter(values[0] ?? '')}::text) || '%'`
  const { text, isThere } = furtherText(searchFurther, record)
  return sql`(${record}.search like ${inside} or ${isThere} and ${text} like ${inside})`
}

function nullCondition(target: Target, operator: Operator): Sql {
  const value = target.field.filter === 'properties' ? sql`nullif(${target.value}, 'null'::jsonb)` : target.value
  return operator === 'equals' ? sql`${value} is null` : sql`${value} is not null`
}

function textCondition(target: Target, operator: Operator, operand: Operand, orderedBy?: string): Sql {
  const { value } = target
  if (operand.kind === 'texts') {
    const any = sql`${value} = any(${operand.values}::text[])${lookupCondition(target, operand.values)}`
    return operator === 'in'
      ? sql`(${value} is not null and ${any})`
      : sql`(${value} is null or ${value} <> all(${operand.values}::text[]))`
  }
  if (operand.kind !== 'text') return never
  if (operator === 'equals') {
    const isScannedInOrder = orderedBy !== undefined && target.field.indexedAlong === orderedBy
    const given = isScannedInOrder ? plannerHidden(operand.value) : sql`${operand.value}`
    return sql`(${value} is not null and ${value} = ${given}${lookupCondition(target, [operand.value])})`
  }
  if (operator === 'equalsIgnoreCase') return keyCondition(target, operand.value)
  if (operator === 'not') return sql`${value} is distinct from ${operand.value}::text`
  return patternCondition(target, value, operator, operand.value)
}

/** The text and key to compare in an `equals` filter on a field with a key index; undefined for other filters. */
export function lookupValues({ target, operator, operand }: Condition): [text: string, key: string] | undefined {
  const through = target.isOwn && !target.list ? target.field.lookup : undefined
  return through && operator === 'equals' && operand.kind === 'text'
    ? [operand.value, through.key(operand.value)]
    : undefined
}

/** The same filter with values to be supplied later. */
export const lookupSql = ({ value, field, alias }: Target, [text, key]: readonly Parameter[]): Sql =>
  sql`(${value} = ${text}::text and ${raw(alias)}.${raw(field.lookup?.column ?? '')} = ${key}::text)`

/** For a frequent value, the planner would scan the order, however many other records come first. */
const plannerHidden = (value: string): Sql => sql`(select ${value}::text)`

/** The same match, once more through the field's key index. */
function lookupCondition(target: Target, values: readonly string[]): Sql {
  const { lookup: through } = target.field
  if (!through || !target.isOwn) return raw('')
  return sql` and ${raw(target.alias)}.${raw(through.column)} = any(${values.map(through.key)}::text[])`
}

/** Compares by key, so that the unique index is used. */
function keyCondition({ name, alias, isOwn, field: { lookup: through } }: Target, value: string): Sql {
  if (!through) return never
  const key = sql`${raw(isOwn ? alias : (name.split('.')[0] ?? ''))}.${raw(through.column)}`
  return sql`(${key} is not null and ${key} = ${through.key(value)})`
}

/** Ignores case and accents. If the search column contains the field, its index narrows the records first. */
function patternCondition(target: Target, value: Sql, operator: Operator, needle: string): Sql {
  const literal = sql`like_literal(${new Parameter(needle)}::text)`
  const inside = sql`'%' || ${literal} || '%'`
  const pattern =
    operator === 'contains' ? inside : operator === 'startsWith' ? sql`${literal} || '%'` : sql`'%' || ${literal}`
  const match = sql`coalesce(fold(${value}) like ${pattern}, false)`
  return target.isOwn && target.field.searched ? sql`(${raw(target.alias)}.search like ${inside} and ${match})` : match
}

function idCondition(target: Target, operator: Operator, operand: Operand): Sql {
  const { value } = target
  if (operand.kind === 'ids') {
    const [first] = operand.values
    const negative = operator === 'not' || operator === 'notIn'
    if (first === undefined) return negative ? always : never
    if (negative) return sql`(${value} is null or ${value} <> all(${operand.values}::uuid[]))`
    return operand.values.length === 1
      ? sql`(${value} is not null and ${value} = ${first}::uuid)`
      : sql`(${value} is not null and ${value} = any(${operand.values}::uuid[]))`
  }
  if (operand.kind !== 'text') return never
  const shown = sql`(${`${target.field.idPrefix}_`}::text || replace(${value}::text, '-', ''))`
  return patternCondition({ ...target, isOwn: false }, shown, operator, operand.value)
}

const symbols = { gt: raw('>'), gte: raw('>='), lt: raw('<'), lte: raw('<=') }
type Comparison = keyof typeof symbols
const isComparison = (operator: Operator): operator is Comparison => operator in symbols

function numberCondition(target: Target, operator: Operator, operand: Operand): Sql {
  // A double is compared as a double, so that a value from a response is found again; other types are compared exactly.
  const isDouble = target.field.databaseType === 'double precision'
  const type = raw(isDouble ? 'double precision' : 'numeric')
  const value = sql`${target.value}::${type}`
  // PostgreSQL rejects a double too close to zero; JavaScript reads it as zero.
  const read = (text: string) => (isDouble ? String(Number(text)) : text)
  if (operand.kind === 'numbers') return sql`coalesce(${value} = any(${operand.values.map(read)}::${type}[]), false)`
  if (operand.kind !== 'number') return never
  const number = sql`${read(operand.value)}::${type}`
  if (operator === 'not') return sql`${value} is distinct from ${number}`
  const symbol = isComparison(operator) ? symbols[operator] : raw('=')
  return sql`coalesce(${value} ${symbol} ${number}, false)`
}

/** With `end` the span is a whole day. The null test makes the result never null and lets an index serve it. */
export function spanCondition(
  value: Sql,
  operator: Operator,
  { start, end }: TimeSpan,
  literal = (instant: string): Sql => sql`${instant}::timestamptz`,
): Sql {
  const from = literal(start)
  const to = end === undefined ? from : literal(end)
  const isInstant = end === undefined
  const present = sql`${value} is not null and `
  switch (operator) {
    case 'gt':
      return isInstant ? sql`(${present}${value} > ${from})` : sql`(${present}${value} >= ${to})`
    case 'gte':
      return sql`(${present}${value} >= ${from})`
    case 'lt':
      return sql`(${present}${value} < ${from})`
    case 'lte':
      return isInstant ? sql`(${present}${value} <= ${from})` : sql`(${present}${value} < ${to})`
    default:
      return isInstant ? sql`(${present}${value} = ${from})` : sql`(${present}${value} >= ${from} and ${value} < ${to})`
  }
}

function arrayCondition({ value, field }: Target, operator: Operator, operand: Operand): Sql {
  if (operand.kind === 'boolean') return operand.value ? sql`${value} = '{}'` : sql`${value} <> '{}'`
  const values = textsOf(operand)
  const has = operator === 'hasSome' ? sql`${value} && ${values}::text[]` : sql`${value} @> ${values}::text[]`
  // Redundant, but required for the partial index of records with any item.
  return field.indexedAlong === undefined ? has : sql`(${value} <> '{}' and ${has})`
}

function booleanCondition({ value, field }: Target, operator: Operator, operand: Operand): Sql {
  if (operand.kind !== 'boolean') return never
  // A condition is part of the statement as it is, so that an index can serve it.
  if (field.computed) return (operator === 'equals') === operand.value ? value : sql`(not ${value})`
  return operator === 'not'
    ? sql`${value} is distinct from ${operand.value}::boolean`
    : sql`coalesce(${value} = ${operand.value}::boolean, false)`
}

function propertyCondition(resource: Resource, target: Target, operator: Operator, operand: Operand): Sql {
  const { value } = target
  if (operand.kind === 'boolean') return emptyProperty(value, operand.value)
  if (operand.kind === 'number') return compareProperty(value, operator, operand.value)
  if (operand.kind === 'span') return compareInstant(value, operator, operand.span)
  const values = textsOf(operand)
  switch (operator) {
    case 'equals':
    case 'in':
      return sql`(${join(equalsAny(resource, target, values), ' or ')})`
    case 'not':
    case 'notIn':
      return sql`(not coalesce(${join(equalsAny(resource, target, values), ' or ')}, false))`
    case 'has':
    case 'hasEvery':
      return sql`(${isArray(value)} and ${join(
        values.map((item) => hasItem(value, item)),
        ' and ',
      )})`
    case 'hasSome':
      return sql`(${isArray(value)} and (${join(
        values.map((item) => hasItem(value, item)),
        ' or ',
      )}))`
    default:
      return patternCondition(
        target,
        sql`(case when jsonb_typeof(${value}) = 'string' then ${value} #>> '{}' end)`,
        operator,
        values[0] ?? '',
      )
  }
}

/** A date matches all instants of that UTC day, whatever their time zone; no index serves this. */
function equalsAny(resource: Resource, target: Target, values: readonly string[]): Sql[] {
  const { value } = target
  const days = values.map(dayOf).filter((day) => day !== undefined)
  const within = days.map((day) => compareInstant(value, 'equals', day))
  const others = values.filter((text) => dayOf(text) === undefined)
  if (others.length === 0) return within
  const isEqual = sql`${value} = any(${asJson(others)}::jsonb[])`
  return [
    target.isDocument ? isEqual : sql`(${anyContained(resource, target, asJson(others))} and ${isEqual})`,
    ...within,
  ]
}

const isArray = (value: Sql): Sql => sql`coalesce(jsonb_typeof(${value}) = 'array', false)`

const hasItem = (value: Sql, item: string): Sql =>
  sql`(${join(
    asJson([item]).map((one) => sql`${value} @> ${`[${one}]`}::jsonb`),
    ' or ',
  )})`

/** Empty: missing, null, or a list, string or object without content. */
function emptyProperty(value: Sql, empty: boolean): Sql {
  const test = sql`(${value} is null or ${value} in ('null'::jsonb, '[]'::jsonb, '""'::jsonb, '{}'::jsonb))`
  return empty ? test : sql`not ${test}`
}

/** Numbers are compared with numbers; other types do not match. The case expression prevents casting them. */
function compareProperty(value: Sql, operator: Operator, operand: string): Sql {
  if (!isComparison(operator)) return never
  return sql`(case when jsonb_typeof(${value}) = 'number' then (${value})::numeric ${symbols[operator]} ${operand}::numeric else false end)`
}

function compareInstant(value: Sql, operator: Operator, span: TimeSpan): Sql {
  const instant = sql`(case when jsonb_typeof(${value}) = 'string' then instant(${value} #>> '{}') end)`
  return sql`coalesce(${spanCondition(instant, operator, span)}, false)`
}

/** `sorted`: a B-tree index. `inverted`: a GIN index, which returns all matches at once, without an order. */
export type IndexKind = 'sorted' | 'inverted'

/** The index that serves a condition, so that its cost depends on the matches, not the organization's size. */
export function indexKindOf({ target, operator, operand }: Condition): IndexKind | undefined {
  const { field, isOwn, isDocument, link, list } = target
  if (link)
    return isPositiveId(operator) && field.equality === 'indexed' && operand.kind === 'ids' ? 'sorted' : undefined
  if (list) return isListServed({ target, operator, operand }) ? 'inverted' : undefined
  if (!isOwn || isDocument) return undefined
  if (operator === 'isEmpty') return field.indexedAlong && !isTrue(operand) ? 'sorted' : undefined
  if (target.declared) return containedJson({ target, operator, operand }).length > 0 ? 'inverted' : undefined
  if (operand.kind === 'boolean') return isServedCondition(field, operator, operand) ? 'sorted' : undefined
  if (operand.kind === 'null') return undefined
  switch (operator) {
    case 'not':
    case 'notIn':
      return undefined
    case 'contains':
    case 'startsWith':
    case 'endsWith':
      return field.searched && operand.kind === 'text' && hasTrigram(operand.value) ? 'inverted' : undefined
    case 'has':
    case 'hasEvery':
    case 'hasSome':
      if (field.filter !== 'array') return undefined
      return field.indexedAlong ? 'sorted' : field.equality === 'indexed' ? 'inverted' : undefined
    case 'equalsIgnoreCase':
      return 'sorted'
    case 'equals':
    case 'in':
      // Every properties column has an index for containment.
      if (field.filter === 'properties') return containsDay(operand) ? undefined : 'inverted'
      if (field.equality === 'indexed') return 'sorted'
      return field.filter === 'date' && field.order === 'indexed' ? 'sorted' : undefined
    default:
      return field.filter === 'date' && field.order === 'indexed' ? 'sorted' : undefined
  }
}

/** The indexes of both columns are combined. */
const isListServed = ({ target: { field }, operator, operand }: Condition): boolean =>
  isPattern(operator)
    ? operand.kind === 'text' && hasTrigram(operand.value)
    : field.lookup !== undefined && ['equals', 'equalsIgnoreCase', 'in'].includes(operator) && operand.kind !== 'null'

const isPositiveId = (operator: Operator): boolean => operator === 'equals' || operator === 'in'

/** The records that meet an indexed condition. */
const isServedCondition = ({ computed, equality }: Field, operator: Operator, operand: Operand): boolean =>
  computed !== undefined && equality === 'indexed' && (operator === 'equals') === isTrue(operand)

const containsDay = (operand: Operand): boolean => textsOf(operand).some((value) => dayOf(value) !== undefined)

const isTrue = (operand: Operand): boolean => operand.kind === 'boolean' && operand.value

/** Text without three consecutive letters or digits has no trigram, so no index finds it. Accents are removed first. */
export const hasTrigram = (fragment: string): boolean => /[\p{L}\p{N}]{3}/u.test(withoutFoldedMarks(fragment))
