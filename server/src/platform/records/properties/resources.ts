import type { Connection } from '../../database/database.ts'
import type { Resource } from '../declare/define.ts'
import type { Relations } from '../declare/relations.ts'
import { definableField } from './values.ts'
import { readPropertySets } from './sets.ts'
import type { PropertySet } from '../declare/field.ts'

/** What a filter, an order or a selection is read by. */
export interface Readable {
  resource: Resource
  relations: Relations
}

/**
 * The resource and its relations, in which custom properties have the definitions of the organization. They are read only
 * if the text of the request mentions custom properties.
 */
export async function withDefinitions(db: Connection, readable: Readable, text: string): Promise<Readable> {
  const { resource, relations } = readable
  const definable = reachable(resource, relations).filter((one) => text.includes(definableField(one) ?? '\0'))
  if (definable.length === 0) return readable
  const sets = await readPropertySets(db, definable)
  const declared = (one: Resource) => declaredResource(one, sets.get(one.table))
  return {
    resource: declared(resource),
    relations: (one) =>
      Object.fromEntries(
        Object.entries(relations(one)).map(([name, relation]) => [
          name,
          { ...relation, resource: declared(relation.resource) },
        ]),
      ),
  }
}

const reachableFrom = new Map<string, readonly Resource[]>()

/** One resource for each table that filters of this one can test. */
function reachable(resource: Resource, relations: Relations): readonly Resource[] {
  const known = reachableFrom.get(resource.table)
  if (known) return known
  const found = new Map([[resource.table, resource]])
  for (const one of found.values())
    for (const { resource: other } of Object.values(relations(one)))
      if (!found.has(other.table)) found.set(other.table, other)
  reachableFrom.set(resource.table, [...found.values()])
  return [...found.values()]
}

const declaredResources = new WeakMap<PropertySet, Map<Resource, Resource>>()

function declaredResource(resource: Resource, set: PropertySet | undefined): Resource {
  const name = definableField(resource)
  const field = name === undefined ? undefined : resource.fields[name]
  if (!set || name === undefined || !field) return resource
  const known = declaredResources.get(set) ?? new Map<Resource, Resource>()
  declaredResources.set(set, known)
  const declared = known.get(resource) ?? {
    ...resource,
    fields: { ...resource.fields, [name]: { ...field, declared: set } },
  }
  known.set(resource, declared)
  return declared
}
