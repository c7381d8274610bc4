import type pg from 'pg'
import { newId } from '../../server/src/platform/model/ids.ts'
import { inOneWrite } from '../../server/src/platform/database/in-one-write.ts'
import type { Exchange, Statement } from './recording.ts'

/** Exchanges to send to another process; each statement text is included once. */
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

/** Runs the recorded statements in the same round trips and returns the response text that the service would send. */
export async function runExchange(client: pg.Client | pg.PoolClient, exchange: Exchange): Promise<string> {
  let text = ''
  for (const trip of exchange) {
    const [first, ...others] = trip
    if (first && others.length === 0) text = textOf(await client.query(toQueryConfig(first))) ?? text
    else {
      // In one write, as the service sends them.
      const results = await inOneWrite(client, () =>
        Promise.all(trip.map((statement) => client.query(toQueryConfig(statement)))),
      )
      for (const result of results) text = textOf(result) ?? text
    }
  }
  return text
}

/** A copy, because the driver keeps a reference to its arguments. */
export const toQueryConfig = ({ name, text, values }: Statement): pg.QueryConfig => ({
  ...(name !== undefined && { name }),
  text,
  values: [...values],
})

/** A record or a page comes as text; a count is wrapped in an object. */
export function textOf({ rows: [row] }: TextResult): string | undefined {
  if (row?.count !== undefined) return JSON.stringify({ count: Number(row.count) })
  return row?.text
}

/** Texts in the values of a recorded write that must differ each time. */
export interface VariableParts {
  /** The UUIDs that the write created. */
  ids: readonly string[]
  /** The number that makes its record unique. */
  number: string
}

/** The ids of the events that a recorded change has written. */
export const eventIdsIn = (exchange: Exchange): string[] =>
  exchange
    .flat()
    .flatMap(({ values }) => [...values.join(' ').matchAll(/"id":"([0-9a-f-]{36})","record_id"/g)])
    .map(([, id = '']) => id)

/** Returns a function that creates the same write with another number and new ids. */
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
