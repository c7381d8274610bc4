import pg from 'pg'
import type { ReadQuery } from './read-queries.ts'
import type { Exchange } from './recording.ts'

/** What the database did for a row, as EXPLAIN ANALYZE tells it. */
export interface Plan {
  name: string
  /** Indexes of contacts that were read, in the order of the alphabet. */
  indexes: string[]
  /** One of these it has to be. */
  expected: readonly string[]
  /** Was the whole table read? */
  sequential: boolean
}

/** A step of a plan, as PostgreSQL tells it. */
export interface Step {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Loops': number
  Plans?: Step[]
}

/** Requests of a row that are explained. */
const maxExplained = 20

/** Explains some of a row's statements; undefined for a row that is not about an index. */
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

/** The indexes of contacts among the steps that were run, and whether the table was read as a whole. */
export function readSteps(steps: readonly Step[]): Pick<Plan, 'indexes' | 'sequential'> {
  const run = steps.flatMap(allSteps).filter((step) => step['Actual Loops'] > 0)
  const indexes = run.flatMap((step) => step['Index Name'] ?? []).filter((index) => index.startsWith('contacts_'))
  return {
    indexes: [...new Set(indexes)].sort(),
    sequential: run.some((step) => step['Node Type'] === 'Seq Scan' && step['Relation Name'] === 'contacts'),
  }
}

const allSteps = (step: Step): Step[] => [step, ...(step.Plans ?? []).flatMap(allSteps)]
