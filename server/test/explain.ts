import type pg from 'pg'
import type { Sql } from '../src/platform/model/sql.ts'

/** A node in the output of EXPLAIN ANALYZE. */
export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** Runs the statement; returns all nodes of its plan. */
export async function explain(client: pg.Client, statement: Sql): Promise<PlanNode[]> {
  const { text, values } = statement.render()
  const { rows } = await client.query(`explain (analyze, buffers, timing off, format json) ${text}`, values)
  return nodesOf(rows[0]['QUERY PLAN'][0].Plan)
}

/** The number of rows and bitmap entries that a plan reads, including those removed by filters. */
export function recordsRead(nodes: readonly PlanNode[]): number {
  const scans = nodes.filter((node) => node['Relation Name'] !== undefined || node['Node Type'] === 'Bitmap Index Scan')
  const rows = scans.map(
    (node) =>
      (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)) *
      node['Actual Loops'],
  )
  return Math.round(rows.reduce((sum, count) => sum + count, 0))
}
