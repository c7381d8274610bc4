import type { TestContext } from 'vitest'
import { testCluster } from './postgres.ts'

/** Skips a test whose subject exists only on a single PostgreSQL, such as a plan or a trigger of the test. */
export function onlyOnSingleServer({ skip }: TestContext, reason: string): void {
  if (testCluster().engine === 'citus') skip(`on Citus: ${reason}`)
}
