import { raw, type Sql, sql } from '../../model/sql.ts'
import type { DeclaredProperty } from './field.ts'

/**
 * The SQL value of a declared property, of its field's database type, from the stored jsonb. Null if there is none, or
 * one from before the definition that does not fit, so that no cast fails; a list is then empty. `part`: of an amount of
 * money, which has no value as a whole.
 */
export function declaredValue({ type, references }: DeclaredProperty, json: Sql, part?: string): Sql {
  const text = sql`${json} #>> '{}'`
  const ofType = (jsonType: string, value: Sql) =>
    sql`(case when jsonb_typeof(${json}) = ${raw(`'${jsonType}'`)} then ${value} end)`
  switch (type) {
    case 'number':
      return ofType('number', sql`(${json})::numeric`)
    case 'boolean':
      return ofType('boolean', sql`(${json})::boolean`)
    case 'date':
      return ofType('string', sql`instant(${text})::date`)
    case 'instant':
      return ofType('string', sql`instant(${text})`)
    case 'multiChoice':
      return sql`(case when jsonb_typeof(${json}) = 'array' then array(select jsonb_array_elements_text(${json}))
        else '{}'::text[] end)`
    case 'money':
      return part === undefined ? json : moneyPart(json, part)
    case 'reference': {
      const { idPrefix = '' } = references ?? {}
      return sql`(case when ${text} ~ ${raw(`'^${idPrefix}_[0-9a-f]{32}$'`)}
        then substring(${text} from ${raw(String(idPrefix.length + 2))})::uuid end)`
    }
    default:
      return ofType('string', text)
  }
}

const moneyPart = (json: Sql, part: string): Sql =>
  part === 'amount'
    ? sql`(case when ${json} ->> 'amount' ~ '^-?[0-9]+(\\.[0-9]+)?$' then (${json} ->> 'amount')::numeric end)`
    : sql`(case when jsonb_typeof(${json} -> 'currency') = 'string' then ${json} ->> 'currency' end)`
