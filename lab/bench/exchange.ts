import type pg from 'pg'
import { newId } from '../../server/src/platform/model/ids.ts'
import type { Exchange, Statement } from './recording.ts'

/** Exchanges on their way to another process: each text stands there once. */
export interface Packed {
  texts: string[]
  exchanges: { name?: string; text: number; values: unknown[] }[][][]
}

export function pack(exchanges: readonly Exchange[]): Packed {
  const texts = new Map<string, number>()
  const numberOf = (text: string) => {
    const number = texts.get(text) ?? texts.size
    texts.set(text, number)
    return number
  }
  const packed = exchanges.map((exchange) =>
    exchange.map((trip) => trip.map((statement) => ({ ...statement, text: numberOf(statement.text) }))),
  )
  return { texts: [...texts.keys()], exchanges: packed }
}

export const unpack = ({ texts, exchanges }: Packed): Exchange[] =>
  exchanges.map((exchange) =>
    exchange.map((trip) => trip.map((statement) => ({ ...statement, text: texts[statement.text] ?? '' }))),
  )

type TextResult = pg.QueryResult<{ text?: string; count?: string }>

/** Sends what was recorded, in as many round trips, and gives the text of the answer as the service would send it. */
export async function runExchange(client: pg.Client | pg.PoolClient, exchange: Exchange): Promise<string> {
  let text = ''
  for (const trip of exchange) {
    const [first, ...others] = trip
    if (first && others.length === 0) text = textOf(await client.query(toQueryConfig(first))) ?? text
    else {
      const results = await Promise.all(trip.map((statement) => client.query(toQueryConfig(statement))))
      for (const result of results) text = textOf(result) ?? text
    }
  }
  return text
}

/** The driver keeps what it is given. */
export const toQueryConfig = ({ name, text, values }: Statement): pg.QueryConfig => ({
  ...(name !== undefined && { name }),
  text,
  values: [...values],
})

/** A record or a page comes as text; a count is told in an object. */
export function textOf({ rows: [row] }: TextResult): string | undefined {
  if (row?.count !== undefined) return JSON.stringify({ count: Number(row.count) })
  return row?.text
}

/** What of a recorded write is new each time: texts that stand in its values. */
export interface VariableParts {
  /** The ids that the write made, as uuids. */
  ids: readonly string[]
  /** The number that tells its record from others. */
  number: string
}

/** A write as it can be made again with another number, and with ids of its own. */
export function repeatable(exchange: Exchange, { ids, number }: VariableParts): (number: string) => Exchange {
  const split = new RegExp(`(${[number, ...ids].join('|')})`)
  const prepared = exchange.map((trip) =>
    trip.map((statement) => ({ ...statement, values: statement.values.map((value) => valueFactory(value, split)) })),
  )
  return (another) => {
    const replacements = new Map([[number, another], ...ids.map((id) => [id, newId()] as const)])
    return prepared.map((trip) =>
      trip.map((statement) => ({ ...statement, values: statement.values.map((make) => make(replacements)) })),
    )
  }
}

function valueFactory(value: unknown, split: RegExp): (replacements: ReadonlyMap<string, string>) => unknown {
  if (Array.isArray(value)) {
    const factories = value.map((item) => valueFactory(item, split))
    return (replacements) => factories.map((make) => make(replacements))
  }
  const parts = typeof value === 'string' ? value.split(split) : []
  if (parts.length < 2) return () => value
  return (replacements) => parts.map((part) => replacements.get(part) ?? part).join('')
}
