import type { ModelFilter, ModelRequest } from './list-model.ts'

/** Names and values of a query string. */
export type Parameters = (readonly [string, string])[]

export const queryString = (parameters: Parameters): string =>
  parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')

export const filterParameter = ({ field, operator, value }: ModelFilter): readonly [string, string] => [
  `filter.${field}.${operator}`,
  typeof value === 'string' ? value : value.map((item) => item.replace(/[\\,]/g, '\\$&')).join(','),
]

export const filterParameters = ({ filters: all, query }: ModelRequest): Parameters => [
  ...all.map(filterParameter),
  ...(query === undefined ? [] : [['query', query] as const]),
]

export const listParameters = (request: ModelRequest): Parameters => [
  ...filterParameters(request),
  ...(request.orderBy === undefined ? [] : [['orderBy', request.orderBy] as const]),
  ...(request.sort === undefined ? [] : [['sort', request.sort] as const]),
]
