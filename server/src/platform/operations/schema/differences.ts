import { columnOf, type Resource } from '../../records/declare/define.ts'
import type { ActualTable, Catalog } from './catalog.ts'
import { type DocumentFunction, documentOf } from './document.ts'
import { type Column, type ForeignKey, hasSearchText, type Index, isServedBy, type Table, tableOf } from './tables.ts'

export type Difference =
  | { kind: 'table'; table: Table }
  | { kind: 'column'; table: Table; column: Column }
  | { kind: 'type' | 'null'; table: Table; column: Column; actual: string }
  | { kind: 'undeclared'; table: Table; column: string }
  | { kind: 'foreign key'; table: Table; key: ForeignKey }
  | { kind: 'check'; table: Table; check: string }
  | { kind: 'index'; table: Table; index: Index }
  | { kind: 'search'; table: Table }
  | {
      kind: 'document'
      table: Table
      resource: Resource
      document: DocumentFunction
      actualVersion: number | undefined
    }

/** Compares the declarations with a migrated database. `listed` are the resources that have a list. */
export function differencesOf(
  resources: readonly Resource[],
  listed: readonly Resource[],
  catalog: Catalog,
): Difference[] {
  return resources.flatMap((resource): Difference[] => {
    const table = tableOf(
      resource,
      listed.filter((view) => view.table === resource.table),
    )
    const actual = catalog.tables.get(table.name)
    const differences: Difference[] = actual ? compare(resource, table, actual) : [{ kind: 'table', table }]
    return [...differences, ...compareDocument(resource, table, catalog)]
  })
}

/** A stored rendering is valid while its version is the declared one, so another text needs another version. */
function compareDocument(resource: Resource, table: Table, { documents, keywords }: Catalog): Difference[] {
  const document = documentOf(resource, keywords)
  if (!document) return []
  const actual = documents.get(document.name)
  if (actual?.body === document.body && actual.version === document.version) return []
  return [{ kind: 'document', table, resource, document, actualVersion: actual?.version }]
}

function compare(resource: Resource, table: Table, actual: ActualTable): Difference[] {
  return [
    ...compareColumns(resource, table, actual),
    ...table.foreignKeys
      .filter(
        (key) => !actual.foreignKeys.some(({ column, table: target }) => column === key.column && target === key.table),
      )
      .map((key): Difference => ({ kind: 'foreign key', table, key })),
    ...table.checks
      .filter((check) => !actual.checks.includes(`CHECK (${check})`))
      .map((check): Difference => ({ kind: 'check', table, check })),
    ...(isSearchSame(resource, actual) ? [] : [{ kind: 'search', table } as const]),
    ...table.indexes
      .filter((index) => !actual.indexes.some((other) => isServedBy(index, other)))
      .map((index): Difference => ({ kind: 'index', table, index })),
  ]
}

function compareColumns(resource: Resource, table: Table, { columns }: ActualTable): Difference[] {
  const differences = table.columns.flatMap((column): Difference[] => {
    const actualColumn = columns.get(column.name)
    if (!actualColumn) return [{ kind: 'column', table, column }]
    if (actualColumn.type !== column.type) return [{ kind: 'type', table, column, actual: actualColumn.type }]
    // For hidden columns, and in tables for people without an organization, nullability is up to their author.
    const isDeclared = Object.entries(resource.fields).some(
      ([name, { computed }]) => computed === undefined && columnOf(name) === column.name,
    )
    if (actualColumn.required === column.required || !isDeclared) return []
    return [{ kind: 'null', table, column, actual: actualColumn.required ? 'not null' : 'null' }]
  })
  const known = new Set([...table.columns.map(({ name }) => name), 'search'])
  const undeclared = [...columns.keys()].filter((name) => !known.has(name))
  return [...differences, ...undeclared.map((column): Difference => ({ kind: 'undeclared', table, column }))]
}

const isSearchSame = (resource: Resource, { searched }: ActualTable): boolean =>
  [...searched].sort().join() === (hasSearchText(resource) ? resource.search : []).map(columnOf).sort().join()

export function describe(difference: Difference): string {
  const { name } = difference.table
  switch (difference.kind) {
    case 'table':
      return `no migration creates the table ${name}`
    case 'column':
      return `${name} has no column ${difference.column.name}`
    case 'type':
      return `${name}.${difference.column.name} is ${difference.actual}, and is declared as ${difference.column.type}`
    case 'null':
      return `${name}.${difference.column.name} is ${difference.actual}, and its field is ${difference.column.required ? 'not ' : ''}nullable`
    case 'undeclared':
      return `${name} has a column ${difference.column} that no field declares`
    case 'foreign key':
      return `${name}.${difference.key.column} has no foreign key to ${difference.key.table}`
    case 'check':
      return `${name} does not check that ${difference.check}`
    case 'index':
      return `${name} has no index on ${difference.index.keys.join(', ')}`
    case 'search':
      return `the search column of ${name} does not read the fields that are declared to be searched`
    case 'document': {
      const { document, actualVersion, resource } = difference
      const isOutdated = actualVersion !== undefined && actualVersion >= document.version
      const advice = isOutdated ? `; set renderingVersion of ${resource.name} to ${actualVersion + 1}` : ''
      return `the function ${document.name} does not render what is declared${advice}`
    }
  }
}
