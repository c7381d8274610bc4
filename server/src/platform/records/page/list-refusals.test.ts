import { expect, test } from 'vitest'
import { ApiError } from '../../model/errors.ts'
import { parseFilters, parseList } from './parse.ts'
import type { Resource } from '../declare/define.ts'
import { collectionsWith } from '../../../../test/collections.ts'
import { pathsOf } from '../../../../test/field-model.ts'

const lists = collectionsWith('list').map(([name, { resource }]) => [name, resource] as const)

const list = (resource: Resource, name: string, value: string) =>
  parseList(resource, [{ name, value }], (orderBy) => ({
    key: Buffer.alloc(32),
    organizationId: '',
    list: resource.name,
    orderBy,
  }))

const count = (resource: Resource, name: string, value: string) => parseFilters(resource, [{ name, value }])

function refusalOf(read: () => unknown): ApiError | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

test.each(lists)('%s: a filter rejects a value that is not one of the field’s choices', (_, resource) => {
  for (const { name, choices, nullable } of pathsOf(resource, [])) {
    const [first] = choices
    if (first === undefined) continue
    const filters = [
      'equals=elsewhere',
      'not=elsewhere',
      `in=${first},elsewhere`,
      `notIn=elsewhere,${first}`,
      `in=${first},null`,
    ]
    const refused = [...filters, `equals=${first.toUpperCase()}${first.toLowerCase()}`]
    for (const filter of nullable ? refused : [...refused, 'equals=null', 'not=null']) {
      const [operator = '', value = ''] = filter.split('=')
      const parameter = `filter.${name}.${operator}`
      for (const read of [list, count]) {
        const refusal = refusalOf(() => read(resource, parameter, value))
        expect([filter, refusal?.code, refusal?.details]).toMatchObject([
          filter,
          'invalid_parameters',
          [{ field: parameter, message: expect.stringContaining('expected one of') }],
        ])
      }
    }
    for (const filter of [`equals=${first}`, 'contains=other', ...(nullable ? ['equals=null', 'not=null'] : [])]) {
      const [operator = '', value = ''] = filter.split('=')
      expect([filter, refusalOf(() => list(resource, `filter.${name}.${operator}`, value))]).toEqual([
        filter,
        undefined,
      ])
    }
  }
})

test.each(lists)('%s: parameter names of other APIs are rejected with a hint to ours', (_, resource) => {
  const hints = {
    page: /startingAfter.*Link/,
    offset: /startingAfter/,
    per_page: /use limit/,
    pageSize: /use limit/,
    sort_by: /use orderBy/,
    fields: /use select\[\]/,
    'filter[name]': /filter\.<field>\.<operator>/,
    ...(resource.search.length > 0 && { q: /use query/, search: /use query/ }),
  }
  for (const [name, hint] of Object.entries(hints)) {
    const message = refusalOf(() => list(resource, name, '2'))?.details?.[0]?.message
    expect([name, message]).toEqual([name, expect.stringMatching(hint)])
  }
  const noPages = refusalOf(() => count(resource, 'page', '2'))
  expect(noPages?.details).toMatchObject([{ field: 'page', message: expect.stringMatching(/^unknown parameter/) }])
  expect(noPages?.details?.[0]?.message).not.toContain('startingAfter')
})
