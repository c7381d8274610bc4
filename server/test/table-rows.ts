import { randomUUID } from 'node:crypto'
import { raw, type Sql, sql } from '../src/platform/model/sql.ts'
import { columnOf, type Resource } from '../src/platform/records/declare/define.ts'
import { type Column, tableOf } from '../src/platform/operations/schema/tables.ts'

/** The required columns of a resource's table. `rowIds` are the ids of rows to refer to, by table. */
export function minimalRow(resource: Resource, rowIds: Readonly<Record<string, string>>): Record<string, unknown> {
  const { columns, foreignKeys } = tableOf(resource, [])
  const requiredColumns = columns.filter(
    ({ name, required, initial }) => required && initial === undefined && name !== 'organization_id',
  )
  return Object.fromEntries(
    requiredColumns.map((column) => {
      const key = foreignKeys.find((foreignKey) => foreignKey.column === column.name)
      const value = key ? rowIds[key.table] : column.name === 'id' ? randomUUID() : minimalValue(resource, column)
      if (value === undefined) throw new Error(`${resource.table}: add the id of a row of ${key?.table} to rowIds`)
      return [column.name, value]
    }),
  )
}

function minimalValue({ fields }: Resource, { name, type }: Column): unknown {
  const [, field] = Object.entries(fields).find(([one]) => columnOf(one) === name) ?? []
  if (Array.isArray(field?.schema.enum)) return field.schema.enum[0]
  // Unique among the records.
  if (name === 'key') return `any_${randomUUID().replaceAll('-', '')}`
  if (type === 'uuid') return randomUUID()
  if (type === 'text') return 'Any'
  return type.startsWith('timestamp') ? new Date().toISOString() : 0
}

/**
 * Fills a table with `count` different rows, so that the planner has a choice: each declared column gets a value that
 * depends on the number of the row, each reference points to a row of its table.
 */
export function fillSql(resource: Resource, organization: Sql, count: number): Sql {
  const { name: table, columns, foreignKeys } = tableOf(resource, [])
  const filledColumns = columns.filter(
    ({ name }) => !['organization_id', 'id', 'revision', 'deleted_at'].includes(name),
  )
  const values = filledColumns.map((column) => {
    const key = foreignKeys.find((foreignKey) => foreignKey.column === column.name)
    if (key) return `${key.column}_rows.id`
    const field = Object.entries(resource.fields).find(([name]) => columnOf(name) === column.name)?.[1]
    const choices = field?.schema.enum
    return Array.isArray(choices)
      ? `(array[${choices.map((choice) => `'${choice}'`).join(', ')}])[1 + number % ${choices.length}]`
      : valueSql(column)
  })
  const joins = foreignKeys.map(
    ({ column, table: other, key }) =>
      // A table with fewer rows is used again from the start.
      `join (select ${key} as id, row_number() over () as place from ${other}) ${column}_rows
        on ${column}_rows.place = 1 + number % (select count(*) from ${other})`,
  )
  return sql`insert into ${raw(table)} (organization_id, id, ${raw(filledColumns.map(({ name }) => `"${name}"`).join(', '))})
    select ${organization}, gen_random_uuid(), ${raw(values.join(', '))}
    from generate_series(1, ${raw(String(count))}) number ${raw(joins.join(' '))}`
}

function valueSql({ type }: Column): string {
  if (type.startsWith('timestamp')) return `now() - number * interval '1 minute'`
  switch (type) {
    case 'uuid':
      return 'gen_random_uuid()'
    case 'boolean':
      return 'number % 2 = 0'
    case 'text':
      return `'Value ' || number`
    case 'text[]':
      return `array['value ' || number % 50]`
    case 'json':
    case 'jsonb':
      return `'{}'`
    case 'bytea':
      return `decode(md5(number::text), 'hex')`
    case 'date':
      return 'current_date - number'
    default:
      return 'number'
  }
}
