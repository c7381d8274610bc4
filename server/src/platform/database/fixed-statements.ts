import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { Parameter, render, Sql } from '../model/sql.ts'

/** A statement with the same text and plan for all values: built once per caller, prepared once per connection. */
export interface FixedStatement {
  name: string
  /** True if it reads few rows of one index whatever the values are: it may share a connection with others. */
  isCheap?: boolean
  values: readonly unknown[]
  build: (values: readonly Parameter[]) => Sql
}

/** A statement about an organization, with others that are sent with it where it is combined (`combinable`). */
export interface OrganizationStatement {
  organizationId: string
  before?: readonly Sql[]
  statement: Sql | FixedStatement
  after?: readonly Sql[]
}

/** The statement with its values, for a single use. */
export const toSql = (statement: Sql | FixedStatement): Sql =>
  statement instanceof Sql ? statement : statement.build(statement.values.map((value) => new Parameter(value)))

interface FixedText {
  name: string
  text: string
  values: unknown[]
  positions: number[]
}

export class FixedTexts {
  readonly #texts = new Map<string, FixedText>()

  /** The query for the statement. `preparedNameOf` returns the name that its text is prepared under. */
  queryOf(statement: FixedStatement, preparedNameOf: (text: string) => string): pg.QueryConfig {
    let fixed = this.#texts.get(statement.name)
    if (!fixed) this.#texts.set(statement.name, (fixed = build(statement, preparedNameOf)))
    const { name, text, positions } = fixed
    const values = [...fixed.values]
    positions.forEach((position, index) => (values[position] = statement.values[index]))
    return { name, text, values }
  }
}

function build(statement: FixedStatement, preparedNameOf: (text: string) => string): FixedText {
  // Unique markers find each value's position: a request's id could equal the organization's own.
  const markers = statement.values.map(() => randomUUID())
  const { text, values } = render(statement.build(markers.map((marker) => new Parameter(marker))))
  return { name: preparedNameOf(text), text, values, positions: markers.map((marker) => values.indexOf(marker)) }
}
