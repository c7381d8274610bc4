/**
 * SQL text with separate values, so that a value can never become SQL. `scoped`: the statement references the
 * connection's organization; a connection rejects one that does not.
 */
export class Sql {
  readonly parts: readonly string[]
  readonly values: readonly unknown[]
  readonly scoped: boolean
  readonly isPrepared: boolean

  constructor(parts: readonly string[], values: readonly unknown[], scoped: boolean, isPrepared = false) {
    this.parts = parts
    this.values = values
    this.scoped = scoped
    this.isPrepared = isPrepared
  }

  /** The text with `$1…` in place of the values. A `Parameter` that occurs twice is sent once. */
  render(): { text: string; values: unknown[] } {
    let text = this.parts[0] ?? ''
    const values: unknown[] = []
    this.values.forEach((value, index) => {
      let position = value instanceof Parameter ? values.indexOf(value) : -1
      if (position < 0) position = values.push(value) - 1
      text += `$${position + 1}${this.parts[index + 1] ?? ''}`
    })
    return { text, values: values.map((value) => (value instanceof Parameter ? value.value : value)) }
  }
}

/** A value that a statement references several times and sends once. */
export class Parameter {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

/** The template tag: an interpolated `Sql` becomes part of the text, anything else a bound parameter. */
export function sql(strings: TemplateStringsArray, ...inputs: unknown[]): Sql {
  const parts = [strings[0] ?? '']
  const values: unknown[] = []
  let scoped = false
  inputs.forEach((input, index) => {
    if (input instanceof Sql) {
      parts[parts.length - 1] += input.parts[0] ?? ''
      parts.push(...input.parts.slice(1))
      values.push(...input.values)
      scoped ||= input.scoped
    } else {
      values.push(input)
      parts.push('')
    }
    parts[parts.length - 1] += strings[index + 1] ?? ''
  })
  return new Sql(parts, values, scoped)
}

/**
 * Marks a statement to be prepared once per connection, because parsing and planning it costs more than running it. It
 * must have one of few texts, and its plan must follow from keys alone, because one plan serves all values. A plan made
 * while a table was small stays in use until maintenance updates the table's statistics.
 */
export const prepared = ({ parts, values, scoped }: Sql): Sql => new Sql(parts, values, scoped, true)

/**
 * Prepared if it is about one record. A set's text differs each time, and its planning cost is shared by many records.
 */
export const preparedForOne = (records: readonly unknown[], statement: Sql): Sql =>
  records.length === 1 ? prepared(statement) : statement

/** A prepared statement has a name per connection; the same text always gets the same name. */
export function render(statement: Sql): { text: string; values: unknown[]; name?: string } {
  const query = statement.render()
  if (!statement.isPrepared) return query
  const name = names.get(query.text) ?? `statement ${names.size + 1}`
  names.set(query.text, name)
  return { ...query, name }
}

const names = new Map<string, string>()

/** Trusted text from a declaration or the source, never from a request. */
export const raw = (text: string): Sql => new Sql([text], [], false)

export const identifier = (name: string): Sql => raw(`"${name.replaceAll('"', '""')}"`)

/**
 * The column equals one of the values, which are of `type`. A single value is compared directly: in a generic plan an
 * array counts as ten values, for which the planner may read the whole table.
 */
export const isOneOf = (column: Sql, values: readonly unknown[], type: string): Sql =>
  values.length === 1 ? sql`${column} = ${values[0]}::${raw(type)}` : sql`${column} = any(${values}::${raw(type)}[])`

/**
 * The same for many values of a column whose index will certainly be used. The values are hidden from the planner:
 * comparing each with its statistics takes longer than looking them up. Without an index, each row would be compared
 * with each value.
 */
export const isOneOfMany = (column: Sql, values: readonly string[], type: string): Sql =>
  sql`${column} = any(array(select unnest(${values}::${raw(type)}[])))`

export function join(items: readonly Sql[], separator: string): Sql {
  const parts = ['']
  const values: unknown[] = []
  items.forEach((item, index) => {
    parts[parts.length - 1] += (index === 0 ? '' : separator) + (item.parts[0] ?? '')
    for (const part of item.parts.slice(1)) parts.push(part)
    for (const value of item.values) values.push(value)
  })
  return new Sql(
    parts,
    values,
    items.some(({ scoped }) => scoped),
  )
}

/**
 * The connection's organization as a parameter; only the connection creates one. Its value is hidden from the planner,
 * which then assumes an average organization. For one that is newer than the statistics it would assume that there are
 * no records, and scan all of them again for each lookup.
 */
export const organizationParameter = (organizationId: string): Sql =>
  new Sql(['(select ', '::uuid)'], [new Parameter(organizationId)], true)

/**
 * The same, visible to the planner, so that it can estimate from its statistics how much belongs to the organization.
 * For lists.
 */
export const plannerVisible = (organization: Sql): Sql =>
  new Sql(['', '::uuid'], organization.values, organization.scoped)
