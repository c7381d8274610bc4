import pg from 'pg'
import type { ReadQuery } from './read-queries.ts'
import type { Exchange } from './recording.ts'

/** What EXPLAIN ANALYZE reports for the statements of a row. */
export interface Plan {
  name: string
  /** Indexes of contacts that were read, in alphabetical order. */
  indexes: string[]
  /** One of these must be among them. */
  expected: readonly string[]
  /** Whether the whole table was read. */
  sequential: boolean
}

/** A node of a plan in the JSON of PostgreSQL. */
export interface Step {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Loops': number
  Plans?: Step[]
}

/** Number of requests of a row that are explained. */
const maxExplained = 20

/** Explains some of a row's statements; undefined for a row without expected indexes. */
export async function planOf(
  connection: pg.ClientConfig,
  { name, indexes }: ReadQuery,
  exchanges: readonly Exchange[],
): Promise<Plan | undefined> {
  if (!indexes) return undefined
  const client = new pg.Client(connection)
  await client.connect()
  try {
    const steps: Step[] = []
    for (const { text, values } of exchanges.slice(0, maxExplained).flat(2)) {
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Step }] }>(
        `explain (analyze, timing off, format json) ${text}`,
        values,
      )
      const [row] = rows
      if (row) steps.push(row['QUERY PLAN'][0].Plan)
    }
    return { name, expected: indexes, ...readSteps(steps) }
  } finally {
    await client.end()
  }
}

/** The indexes of contacts that were read by executed steps, and whether the whole table was read. */
export function readSteps(steps: readonly Step[]): Pick<Plan, 'indexes' | 'sequential'> {
  const run = steps.flatMap(allSteps).filter((step) => step['Actual Loops'] > 0)
  const indexes = run.flatMap((step) => step['Index Name'] ?? []).filter((index) => index.startsWith('contacts_'))
  return {
    indexes: [...new Set(indexes)].sort(),
    sequential: run.some((step) => step['Node Type'] === 'Seq Scan' && step['Relation Name'] === 'contacts'),
  }
}

const allSteps = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(allSteps)]
