import type { Suggestions } from '../../model/suggestions.ts'

/** Other APIs' names for our parameters, in lower case without punctuation, and the parameter to use instead. */
const otherApiNames: readonly { names: readonly string[]; parameter: string; hint: string }[] = [
  {
    names: ['page', 'pagenumber', 'pageno', 'pagetoken', 'offset', 'skip', 'start', 'cursor', 'after', 'next'],
    parameter: 'startingAfter',
    hint: 'for the next page, use startingAfter with the id of the last record, or the Link header',
  },
  {
    names: ['before', 'prev', 'previous'],
    parameter: 'endingBefore',
    hint: 'for the previous page, use endingBefore with the id of the first record, or the Link header',
  },
  {
    names: ['perpage', 'pagesize', 'size', 'pagelimit', 'max', 'maxresults', 'top', 'take', 'first'],
    parameter: 'limit',
    hint: 'use limit for the number of records on a page',
  },
  {
    names: ['q', 's', 'search', 'text', 'term', 'keyword', 'keywords', 'fulltext'],
    parameter: 'query',
    hint: 'use query to search',
  },
  {
    names: ['order', 'sortby', 'sortfield', 'sortorder', 'ordering', 'orderdirection', 'direction', 'dir'],
    parameter: 'orderBy',
    hint: 'use orderBy with a field, and sort with asc or desc',
  },
  {
    names: ['fields', 'field', 'columns', 'attributes', 'properties', 'only', 'include', 'expand'],
    parameter: 'select[]',
    hint: 'use select[] for the fields of the response',
  },
]

/** Represents all filters in the list of known parameters. */
export const anyFilter = 'filter.<field>.<operator>=<value>'

export function unknownParameter(suggestions: Suggestions, name: string, known: readonly string[]): string {
  if (known.includes(anyFilter) && /^(filters?|where)\b/i.test(name)) return `unknown parameter; use ${anyFilter}`
  const normalized = name.toLowerCase().replace(/[^a-z]/g, '')
  const found = otherApiNames.find(({ names, parameter }) => names.includes(normalized) && known.includes(parameter))
  if (found) return `unknown parameter; ${found.hint}`
  const suggestion = suggestions.for(name, known)
  return suggestion ? `unknown parameter; did you mean ${suggestion}?` : 'unknown parameter'
}
