import { type FieldError, invalidParameters, maxDetails } from '../../model/errors.ts'
import type { QueryParameter } from './query-string.ts'

/** Generated clients send `filters` and `select[]` in several notations (docs/guides/api.md): gives them their names. */
export function withPlainNames(query: readonly QueryParameter[]): readonly QueryParameter[] {
  if (!query.some(({ name }) => isNested(name))) return query
  const errors: FieldError[] = []
  const plain = query.flatMap(({ name, value }): QueryParameter[] => {
    const read = isNested(name) ? plainName(name) : { name }
    if ('name' in read) return [{ name: read.name, value }]
    if (errors.length < maxDetails) errors.push({ field: name.slice(0, 200), message: read.error })
    return []
  })
  if (errors.length > 0) throw invalidParameters(errors)
  return plain
}

const isNested = (name: string): boolean => /^filters(?:$|[[.])|^select\[\]\[/.test(name)

const oneEach = 'send each filter as a parameter, as in filter.email.contains=ada or filters[filter.email.contains]=ada'

function plainName(name: string): { name: string } | { error: string } {
  if (/^select\[\]\[\d{0,3}\]$/.test(name)) return { name: 'select[]' }
  if (name.startsWith('select')) return { error: 'unknown parameter; send select[]=<field> for each field' }
  if (name.startsWith('filters.')) return { name: name.slice('filters.'.length) }
  if (!/^filters(?:\[[^[\]]*\])+$/.test(name)) return { error: `unknown parameter; ${oneEach}` }
  const keys = name.slice('filters['.length, -1).split('][')
  if (keys.length > 1 && /^\d*$/.test(keys.at(-1) ?? ''))
    return { error: 'expected one value; separate the values of in, notIn, hasEvery and hasSome by commas' }
  return keys.includes('') ? { error: `unknown parameter; ${oneEach}` } : { name: keys.join('.') }
}
