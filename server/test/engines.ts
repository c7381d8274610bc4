import { organizationParameter, plannerVisible, type Sql } from '../src/platform/model/sql.ts'
import { testCluster } from './postgres.ts'

/**
 * To skip a test on Citus because its subject is a single server: its plans, its triggers (Citus refuses them) or its
 * catalog. `test.skipIf(isDistributed())(…)`, which counts the skip.
 */
export const isDistributed = (): boolean => testCluster().engine === 'citus'

/** The organization (uuid) in statements, as a connection to the engine of this run has it. */
export const organizationOnEngine = (id: string): Sql =>
  isDistributed() ? plannerVisible(organizationParameter(id)) : organizationParameter(id)
