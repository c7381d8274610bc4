/** SQL text with separate values: a value can never become SQL. `scoped`: references the connection's organization. */
export class Sql {
  readonly parts: readonly string[]
  readonly values: readonly unknown[]
  readonly scoped: boolean
  readonly isPrepared: boolean
  readonly isCombinable: boolean

  constructor(
    parts: readonly string[],
    values: readonly unknown[],
    scoped: boolean,
    { isPrepared = false, isCombinable = false } = {},
  ) {
    this.parts = parts
    this.values = values
    this.scoped = scoped
    this.isPrepared = isPrepared
    this.isCombinable = isCombinable
  }

  /** The text with `$1…` instead of the values. A `Parameter` that occurs twice is sent once. */
  render(): { text: string; values: unknown[] } {
    const values: unknown[] = []
    const text = this.toText((value) => {
      let position = value instanceof Parameter ? values.indexOf(value) : -1
      if (position < 0) position = values.push(value) - 1
      return `$${position + 1}`
    })
    return { text, values: values.map((value) => (value instanceof Parameter ? value.value : value)) }
  }

  /** The text with a placeholder for each value. */
  toText(placeholderOf: (value: unknown) => string): string {
    let text = this.parts[0] ?? ''
    this.values.forEach((value, index) => (text += placeholderOf(value) + (this.parts[index + 1] ?? '')))
    return text
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
 * Prepares it once per connection, or combines it with others (`combinable`). Only for few different texts whose plan follows
 * from keys alone.
 */
export const prepared = ({ parts, values, scoped }: Sql): Sql =>
  new Sql(parts, values, scoped, { isPrepared: true, isCombinable: true })

/**
 * For a statement of a transaction that may be sent as one command with others of the same time, where that saves round trips:
 * it uses only tables of one place, returns rows, which may be read as JSON, and casts its values unless they are texts.
 */
export const combinable = ({ parts, values, scoped, isPrepared }: Sql): Sql =>
  new Sql(parts, values, scoped, { isPrepared, isCombinable: true })

/** Sends a prepared statement on its own, because its rows or values have no form in JSON. */
export const alone = ({ parts, values, scoped, isPrepared }: Sql): Sql => new Sql(parts, values, scoped, { isPrepared })

/** Prepared if it is about one record: a set's text differs each time, and planning is cheap per record. */
export const preparedForOne = (records: readonly unknown[], statement: Sql): Sql =>
  records.length === 1 ? prepared(statement) : combinable(statement)

/** The rows of the previous one of combined statements, as a JSON array. */
export const previousRows = new Sql(['$2'], [], false)

/** A prepared statement has a name per connection; the same text always gets the same name. */
export function render(statement: Sql): { text: string; values: unknown[]; name?: string } {
  const query = statement.render()
  return statement.isPrepared ? { ...query, name: nameOf(query.text) } : query
}

/** The same text always gets the same name. */
export function nameOf(text: string): string {
  const name = names.get(text) ?? `statement ${names.size + 1}`
  names.set(text, name)
  return name
}

const names = new Map<string, string>()

/** Trusted text from a declaration or the source, never from a request. */
export const raw = (text: string): Sql => new Sql([text], [], false)

export const identifier = (name: string): Sql => raw(`"${name.replaceAll('"', '""')}"`)

/** A single value is compared directly: in a generic plan an array counts as ten, which may scan the whole table. */
export const isOneOf = (column: Sql, values: readonly unknown[], type: string): Sql =>
  values.length === 1 ? sql`${column} = ${values[0]}::${raw(type)}` : sql`${column} = any(${values}::${raw(type)}[])`

/**
 * For many values of a column whose index will certainly be used: hidden from the planner, because comparing each with
 * its statistics takes longer than looking them up. Without an index, each row would be compared with each value.
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
 * The connection's organization, created only by the connection. Hidden from the planner, which otherwise assumes that
 * an organization newer than the statistics has no records, and scans all of them for each lookup.
 */
export const organizationParameter = (organizationId: string): Sql =>
  new Sql(['(select ', '::uuid)'], [new Parameter(organizationId)], true)

/** Visible to the planner, so that it can estimate how much belongs to the organization. For lists. */
export const plannerVisible = (organization: Sql): Sql =>
  new Sql(['', '::uuid'], organization.values, organization.scoped)

/** True if the planner needs it wherever a statement reads a table (`Engine.organizationOf`). */
export const isPlannerVisible = (organization: Sql): boolean => organization.parts[0] === ''
