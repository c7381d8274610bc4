import { defineResource, columnOf, type Fields, type Link, type Resource } from './define.ts'
import { id, reference, timestamp } from './fields.ts'

/** The links of a many-to-many relationship as records, nested in the record that declares them. */
export function linkResource(owner: Resource, name: string): Resource {
  const link = linkOf(owner, name)
  const { label, resource: other, singular, component, idPrefix, heading, show, orderBy, fields } = link
  const table = linkTableName(owner, name)
  const [ownerId, otherId] = [referenceFieldName(owner), referenceFieldName(other)]
  return defineResource<Fields>({
    name: table.replaceAll('_', '-'),
    table,
    singular,
    component,
    idPrefix,
    ...(heading !== undefined && { heading }),
    roleGroup: owner.roleGroup,
    ...(other.isErasable && { isErasable: true }),
    restorableDays: owner.restorableDays,
    parent: { parameter: ownerId, resource: owner, column: columnOf(ownerId), isSmall: true },
    uniques: { [`${table}_unique`]: { field: otherId, columns: [columnOf(ownerId), columnOf(otherId)] } },
    searchedWhenRead: show.flatMap((shown) =>
      other.fields[shown]?.filter === 'string' ? [`${other.singular}.${shown}`] : [],
    ),
    embedded: { [other.singular]: { label, through: otherId, resource: other, show, orderBy } },
    fields: {
      id: id(idPrefix),
      [ownerId]: reference(owner.idPrefix, { label: owner.component, readOnly: true, nullable: false }),
      [otherId]: otherReference(link),
      ...fields,
      createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
      updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
    },
  })
}

/** The link fields by which a list of the owner can be filtered. */
export const linkFields = (link: Link): Fields => ({
  [referenceFieldName(link.resource)]: otherReference(link),
  ...link.fields,
})

/** The table of the links, and its columns with the ids of the owner and of the record at the other end. */
export const linkTable = (owner: Resource, name: string): { table: string; column: string; otherColumn: string } => ({
  table: linkTableName(owner, name),
  column: columnOf(referenceFieldName(owner)),
  otherColumn: columnOf(referenceFieldName(linkOf(owner, name).resource)),
})

const linkOf = (owner: Resource, name: string): Link => {
  const link = owner.links[name]
  if (!link) throw new Error(`${owner.name} have no links ${name}`)
  return link
}

const otherReference = ({ label, resource: { idPrefix, table } }: Link) =>
  reference(idPrefix, { label, table, required: true, cascades: true, equality: 'indexed' })

const linkTableName = (owner: Resource, name: string): string => columnOf(`${owner.singular}_${name}`)

const referenceFieldName = ({ singular }: Resource): string => `${singular}Id`
