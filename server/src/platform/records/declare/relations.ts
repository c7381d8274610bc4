import { camelCase, columnOf, type Connected, listedAcrossParents, type Resource } from './define.ts'
import { linkTable } from './links.ts'

/** The records of another resource that belong to a record, which filters can test: `some` or `none` of them. */
export interface Relation {
  name: string
  /** The other resource, as its list shows it: without the records of deleted parents. */
  resource: Resource
  /** How the records find each other. */
  by: ByColumn | ByLink
}

/** `there` of the other record equals `here`; one of the two is the id. */
interface ByColumn {
  here: string
  there: string
}

/** A table of links has the ids of both, in the columns `here` and `there`. */
interface ByLink extends ByColumn {
  linkTable: string
}

/** The relations of each resource, by name. */
export type Relations = (resource: Resource) => Readonly<Record<string, Relation>>

/**
 * The relations that follow from the declarations of the listed resources: a reference with a `table`, a parent, links,
 * and what a resource connects, each in both directions. Only between records (`roleGroup`): people and teams have their own rules of access.
 */
export function relationsAmong(listed: readonly Resource[]): Relations {
  const byTable = new Map(mainLists(listed).map((resource) => [resource.table, listedAcrossParents(resource)]))
  const relations = new Map<string, Record<string, Relation>>()
  const add = (table: string, relation: Relation) => {
    const known = relations.get(table) ?? {}
    if (known[relation.name]) throw new Error(`${table} have two relations called ${relation.name}`)
    relations.set(table, { ...known, [relation.name]: relation })
  }
  for (const resource of byTable.values()) {
    const connections = connectionsOf(resource)
    for (const { name, table, by } of connections) {
      const other = byTable.get(table)
      if (!other) continue
      add(resource.table, { name, resource: other, by })
      // Trips from and to a place are its `tripsFrom` and `tripsTo`.
      const isOnly = connections.every((one) => one.name === name || one.table !== table)
      const back = camelCase(isOnly ? resource.name : `${resource.name}-${name}`)
      add(table, { name: back, resource, by: { ...by, here: by.there, there: by.here } })
    }
    for (const [one, other] of connectedBy(resource)) {
      const listed = byTable.get(other.resource.table)
      if (!listed) continue
      const by = { linkTable: resource.table, here: one.column, there: other.column }
      add(one.resource.table, { name: other.name, resource: listed, by })
    }
  }
  return ({ table }) => relations.get(table) ?? {}
}

/** One list of each table: the one across all parents, if there is one. */
function mainLists(listed: readonly Resource[]): readonly Resource[] {
  const records = listed.filter(({ roleGroup }) => roleGroup === 'records')
  const sorted = [...records].sort((left, right) => Number(Boolean(left.parent)) - Number(Boolean(right.parent)))
  return sorted.filter((resource) => sorted.find(({ table }) => table === resource.table) === resource)
}

const connectedBy = ({ connects }: Resource): (readonly [Connected, Connected])[] =>
  connects ? [connects, [connects[1], connects[0]]] : []

interface Connection {
  name: string
  table: string
  by: Relation['by']
}

/** The other resources that the resource itself names. */
function connectionsOf(resource: Resource): Connection[] {
  const toId = (here: string) => ({ here, there: 'id' })
  const parents = (resource.requiredParents ?? []).map(({ resource: { singular, table }, column }) => ({
    name: singular,
    table,
    by: toId(column),
  }))
  const isParent = (column: string) => parents.some(({ by }) => by.here === column)
  const references = Object.entries(resource.fields).flatMap(([name, { references: to }]) =>
    to?.key === 'id' && !isParent(columnOf(name))
      ? [{ name: name.replace(/Id$/, ''), table: to.table, by: toId(columnOf(name)) }]
      : [],
  )
  const links = Object.entries(resource.links).map(([name, link]) => {
    const { table, column, otherColumn } = linkTable(resource, name)
    return { name, table: link.resource.table, by: { linkTable: table, here: column, there: otherColumn } }
  })
  return [...parents, ...references, ...links]
}
