/**
 * SQL text with its values kept apart, so that a value can never become SQL.
 * `scoped` says that the statement names the organization of its connection; a connection refuses one that does not.
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

  /** The text with `$1…` in place of the values. A value object that occurs twice is sent once. */
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

/** A value that one statement names in several places and sends once. */
export class Parameter {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
}

/** The tag: an interpolated `Sql` becomes part of the text, anything else a bound parameter. */
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
 * The whole of a statement that is prepared once for each connection, because parsing and planning it costs more than
 * running it. Its text has to be one of few, whatever was asked; its plan must follow from keys alone, as it serves all
 * values. One of a table that was small is used until the upkeep takes statistics of what it has grown to.
 */
export const prepared = ({ parts, values, scoped }: Sql): Sql => new Sql(parts, values, scoped, true)

/** Prepared where it is about one record; a set has a text of its own each time, and its planning is shared by many. */
export const preparedForOne = (records: readonly unknown[], statement: Sql): Sql =>
  records.length === 1 ? prepared(statement) : statement

/** What is prepared is known to each connection by a name, the same one for the same text. */
export function render(statement: Sql): { text: string; values: unknown[]; name?: string } {
  const query = statement.render()
  if (!statement.isPrepared) return query
  const name = names.get(query.text) ?? `statement ${names.size + 1}`
  names.set(query.text, name)
  return { ...query, name }
}

const names = new Map<string, string>()

/** Text of ours, from a declaration or the source; never from a request. */
export const raw = (text: string): Sql => new Sql([text], [], false)

export const identifier = (name: string): Sql => raw(`"${name.replaceAll('"', '""')}"`)

/**
 * The column holds one of the values, which are of `type`. A single one is compared as such: where one plan serves
 * all values an array counts as ten, for which a table of many pages is still read as a whole.
 */
export const isOneOf = (column: Sql, values: readonly unknown[], type: string): Sql =>
  values.length === 1 ? sql`${column} = ${values[0]}::${raw(type)}` : sql`${column} = any(${values}::${raw(type)}[])`

/**
 * The same for many values of a column by which an index is sure to be asked. The planner does not see them: it would weigh
 * each against its statistics, which takes longer than to look them up. Where no index serves, each row is compared with
 * each value.
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
 * The organization of a connection as a parameter; only the connection makes one. The planner is kept from seeing which
 * one it is and takes it for one like the others: of one that is new since the statistics it would think that it has no
 * records, and read all of them again for each one that is looked up.
 */
export const organizationParameter = (organizationId: string): Sql =>
  new Sql(['(select ', '::uuid)'], [new Parameter(organizationId)], true)

/** The same where the planner is to weigh how much belongs to the organization, by what statistics know of it: in lists. */
export const plannerVisible = (organization: Sql): Sql =>
  new Sql(['', '::uuid'], organization.values, organization.scoped)
