import { noTransactionMarker } from '../../database/migrate.ts'
import type { Difference } from './differences.ts'
import { createDocument, replaceDocument } from './document.ts'
import type { Column, ForeignKey, Index, Table } from './tables.ts'

/** The text of a migration: what one transaction can do, and the indexes of tables in use. */
export interface Skeleton {
  changes: string | undefined
  indexes: string | undefined
}

/**
 * SQL that changes the tables to what the declarations require, for review. It never rewrites a table and never blocks
 * writers: defaults are constant, constraints are validated later, and indexes are built `concurrently`, which needs a
 * non-transactional file.
 */
export function skeletonOf(differences: readonly Difference[], keywords: ReadonlySet<string>): Skeleton {
  const write = new Writer(keywords)
  const changes = sortByDependency(differences.filter(isChange)).map((difference) => write.change(difference))
  const indexes = differences.filter((difference) => difference.kind === 'index')
  return {
    changes: changes.length === 0 ? undefined : `${changes.join('\n\n')}\n`,
    indexes:
      indexes.length === 0
        ? undefined
        : `${noTransactionMarker}\n${indexes.map(({ table, index }) => write.concurrently(table, index)).join('\n')}\n`,
  }
}

type Change = Exclude<Difference, { kind: 'index' }>
const isChange = (difference: Difference): difference is Change => difference.kind !== 'index'

/** New tables first, each after those that it references. */
function sortByDependency(changes: readonly Change[]): Change[] {
  const sorted: Change[] = []
  let remaining = changes.filter(({ kind }) => kind === 'table')
  while (remaining.length > 0) {
    const names = new Set(remaining.map(({ table }) => table.name))
    const isReady = ({ table }: Change) =>
      table.foreignKeys.every((key) => key.table === table.name || !names.has(key.table))
    const ready = remaining.filter(isReady)
    if (ready.length === 0) throw new Error(`These tables refer to each other in a circle: ${[...names].join(', ')}.`)
    sorted.push(...ready)
    remaining = remaining.filter((one) => !ready.includes(one))
  }
  return [...sorted, ...changes.filter(({ kind }) => kind !== 'table')]
}

class Writer {
  readonly #keywords: ReadonlySet<string>

  constructor(keywords: ReadonlySet<string>) {
    this.#keywords = keywords
  }

  change(difference: Change): string {
    const { table } = difference
    switch (difference.kind) {
      case 'table':
        return this.#createTable(table)
      case 'column':
        return this.#addColumn(table, difference.column)
      case 'foreign key':
        return this.#addForeignKey(table, difference.key)
      case 'check':
        return this.#addCheck(table, difference.check)
      case 'search':
        return this.#replaceSearch(table)
      case 'document': {
        const { resource, document, actualVersion } = difference
        return actualVersion === undefined ? createDocument(resource, document) : replaceDocument(document)
      }
      case 'type':
        return [
          `-- Review: ${table.name}.${difference.column.name} is ${difference.actual}. Another type may rewrite the table and lock it.`,
          `alter table ${table.name} alter column ${this.#name(difference.column.name)} type ${difference.column.type};`,
        ].join('\n')
      case 'null':
        return difference.column.required
          ? this.#require(table, difference.column)
          : `alter table ${table.name} alter column ${this.#name(difference.column.name)} drop not null;`
      case 'undeclared':
        return [
          `-- Review: no field declares this column. Dropping it deletes its data.`,
          `-- alter table ${table.name} drop column ${this.#name(difference.column)};`,
        ].join('\n')
    }
  }

  concurrently(table: Table, index: Index): string {
    const sql = this.#index(table, index).replace(' index ', ' index concurrently ')
    return `drop index concurrently if exists ${index.name};\n${sql}`
  }

  #name(column: string): string {
    return this.#keywords.has(column) ? `"${column}"` : column
  }

  #createTable(table: Table): string {
    // Without a foreign key: organizations belong to another place (docs/architecture.md, Tenancy).
    const owner = `  organization_id uuid not null`
    const columns = table.columns
      .filter(({ name }) => name !== 'organization_id')
      .map((one) => `  ${this.#column(one)}`)
    const search = table.search
      ? [
          `  -- What \`query\` and \`contains\` look into, folded; lines keep the fields apart.`,
          `  ${searchColumn(table.search)},`,
        ]
      : []
    const constraints = [
      '  primary key (organization_id, id)',
      ...table.checks.map((check) => `  check (${check})`),
      ...table.foreignKeys.map((key) => `  ${this.#foreignKey(key)}`),
    ]
    return [
      `create table ${table.name} (`,
      [owner, ...columns].map((line) => `${line},`).join('\n'),
      ...search,
      constraints.join(',\n'),
      ');',
      ...table.indexes.map((index) => this.#index(table, index)),
    ].join('\n')
  }

  #column({ name, type, required, initial }: Column): string {
    const parts = [
      this.#name(name),
      type.replace('timestamp(3) with time zone', 'timestamptz(3)'),
      ...(required ? ['not null'] : []),
      ...(initial ? [`default ${initial}`] : []),
    ]
    return parts.join(' ')
  }

  #addColumn(table: Table, column: Column): string {
    const isFilled = !column.required || column.initial !== undefined
    const added = `alter table ${table.name} add column ${this.#column({ ...column, required: column.required && isFilled })};`
    const needed = isFilled ? [] : [this.#require(table, column)]
    return [added, ...needed].join('\n')
  }

  /** Adds a validated check first: with it, `set not null` does not scan the table under its lock. */
  #require(table: Table, { name }: Column): string {
    const constraint = `${table.name}_${name}_present`
    return [
      `-- Review: existing records need a value first. Write the statement that sets it here.`,
      `alter table ${table.name} add constraint ${constraint} check (${this.#name(name)} is not null) not valid;`,
      `alter table ${table.name} validate constraint ${constraint};`,
      `alter table ${table.name} alter column ${this.#name(name)} set not null;`,
      `alter table ${table.name} drop constraint ${constraint};`,
    ].join('\n')
  }

  #addForeignKey(table: Table, key: ForeignKey): string {
    const constraint = `${table.name}_${key.column}_fkey`
    return [
      `alter table ${table.name} add constraint ${constraint}`,
      `  ${this.#foreignKey(key)} not valid;`,
      `alter table ${table.name} validate constraint ${constraint};`,
    ].join('\n')
  }

  #addCheck({ name }: Table, check: string): string {
    return [
      `alter table ${name} add constraint ${name}_one_parent check (${check}) not valid;`,
      `alter table ${name} validate constraint ${name}_one_parent;`,
    ].join('\n')
  }

  #foreignKey({ column, table, key, onDelete }: ForeignKey): string {
    const own = this.#name(column)
    const action = onDelete === 'cascade' ? ' on delete cascade' : ''
    return `foreign key (organization_id, ${own}) references ${table} (organization_id, ${key})${action}`
  }

  #replaceSearch({ name, search }: Table): string {
    const rewrite = `-- Review: a search column that reads other fields is recreated, which rewrites ${name} and locks it meanwhile.`
    const dropped = `alter table ${name} drop column if exists search;`
    if (!search) return `${rewrite}\n${dropped}`
    return [
      rewrite,
      dropped,
      `alter table ${name} add column ${searchColumn(search)};`,
      `create index ${name}_search on ${name} using gin (search gin_trgm_ops) where deleted_at is null;`,
    ].join('\n')
  }

  #index(table: Table, { name, unique, method, keys, operators, where }: Index): string {
    const listed = keys.map((key) => (key.startsWith('sort_key(') ? `(${key} collate "C")` : this.#name(key)))
    const using =
      method === 'gin'
        ? ` using gin (${listed.join(', ')}${operators ? ` ${operators}` : ''})`
        : ` (${listed.join(', ')})`
    return `create ${unique ? 'unique index' : 'index'} ${name} on ${table.name}${using}${where ? ` where ${where}` : ''};`
  }
}

const searchColumn = (texts: readonly string[]): string =>
  `search text not null generated always as (fold(${texts.join(` || E'\\n' || `)})) stored`
