import type { Resource } from '../records/declare/define.ts'
import { orderBy } from '../records/page/order.ts'
import { parseSelection } from '../records/page/select.ts'
import { Suggestions } from '../model/suggestions.ts'
import { findTarget } from '../records/filter/target.ts'
import type { Components } from './openapi-components.ts'
import { exampleKey, pathsOf } from './openapi-filters.ts'
import type { Schema } from '../model/json.ts'

export const orderSchema = (resource: Resource, components: Components): Schema =>
  components.schema(
    `${resource.component}OrderField`,
    namesSchema(resource, (path) => {
      const target = findTarget(resource, path, noSuggestions)
      return !('error' in target) && !('error' in orderBy(target, false))
    }),
  )

export const selectableSchema = (resource: Resource, components: Components): Schema =>
  components.schema(
    `${resource.component}SelectField`,
    namesSchema(resource, (path) => parseSelection(resource, [path], noSuggestions).errors.length === 0),
  )

const noSuggestions = new Suggestions(0)

function namesSchema(resource: Resource, isAccepted: (path: string) => boolean): Schema {
  const candidates = [...new Set([...resource.propertyNames, ...pathsOf(resource)])]
  const names = { type: 'string', enum: candidates.filter(isAccepted) }
  const open = candidates.flatMap((path) => {
    const target = findTarget(resource, path, noSuggestions)
    const key = 'error' in target ? 'key' : exampleKey(target.field)
    return isAccepted(`${path}.${key}`) && !names.enum.includes(`${path}.${key}`) ? [{ path, key }] : []
  })
  if (open.length === 0) return names
  const pattern = `^(?:${open.map(({ path }) => path).join('|')})\\.`
  const below = { type: 'string', pattern, examples: open.slice(0, 2).map(({ path, key }) => `${path}.${key}`) }
  return { anyOf: [names, { allOf: [below, anyText] }] }
}

/** True of every text: TypeScript would reduce a union with `string` to `string`, without names to complete. */
const anyText: Schema = { properties: { length: { type: 'integer' } } }
