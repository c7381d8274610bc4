import type pg from 'pg'
import { Parameter, type Sql, sql, render } from '../../model/sql.ts'
import { type OrganizationStatement, toSql } from '../fixed-statements.ts'
import type { Batch, SendCall } from '../transaction-attempt.ts'
import type { OrganizationCall } from './engine.ts'

/**
 * The call that runs statements about an organization on the server with its records, one after the other, as one
 * command. Citus refuses statements that use another organization, and its other servers have no directory.
 */
function organizationCall(organizationId: string, statements: readonly Sql[]): pg.QueryConfig {
  const values: unknown[] = []
  const positions = new Map<unknown, number>()
  const positionOf = (value: unknown): number => {
    const known = value instanceof Parameter ? positions.get(value) : undefined
    if (known !== undefined) return known
    const position = values.push(value instanceof Parameter ? value.value : value) - 1
    if (value instanceof Parameter) positions.set(value, position)
    return position
  }
  const texts = statements.map((statement) => statement.toText((value) => `($1->>${positionOf(value)})`))
  return render(sql`select run_in_organization(${organizationId}::uuid, ${texts}::text[], ${JSON.stringify(values.map(textOf))}::jsonb)
    as results`)
}

const rowsOf = ({ rows: [row] }: pg.QueryResult<{ results: object[][] }>): object[][] => row?.results ?? []

/** The call for the statement, and its rows. */
export const callOf = ({
  organizationId,
  before = [],
  statement,
  after = [],
}: OrganizationStatement): OrganizationCall => ({
  query: organizationCall(organizationId, [...before, toSql(statement), ...after]),
  rowsOf: (result) => rowsOf(result)[before.length] ?? [],
})

/** The value as PostgreSQL reads it. An element of an array would crash Citus as the new value of a column. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'object') throw new Error('An object must be sent as JSON text.')
  return String(value)
}

function elementOf(value: unknown): string {
  const text = textOf(value)
  return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

interface Waiting {
  statement: Sql
  resolve: (rows: object[]) => void
  reject: (error: unknown) => void
}

/** Sends statements of a transaction to the shard of its organization; those of one turn of the event loop as one command. */
export class OrganizationStatements implements Batch {
  readonly takes: (statement: Sql) => boolean
  readonly #organizationId: string
  readonly #send: SendCall
  #waiting: Waiting[] = []

  constructor(organizationId: string, { isOnShard, send }: { isOnShard: (statement: Sql) => boolean; send: SendCall }) {
    this.#organizationId = organizationId
    this.takes = isOnShard
    this.#send = send
  }

  add<Row extends object>(statement: Sql): Promise<Row[]> {
    if (this.#waiting.length === 0) process.nextTick(() => this.flush())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statement, resolve: (rows) => resolve(rows as Row[]), reject })
    })
  }

  flush(): void {
    const batch = this.#waiting
    if (batch.length === 0) return
    this.#waiting = []
    const statements = batch.map(({ statement }) => statement)
    const send = async () => rowsOf(await this.#send(organizationCall(this.#organizationId, statements)))
    send().then(
      (results) => batch.forEach(({ resolve }, index) => resolve(results[index] ?? [])),
      (error: unknown) => batch.forEach(({ reject }) => reject(error)),
    )
  }

  cancel(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}
