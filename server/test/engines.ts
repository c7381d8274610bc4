import { testCluster } from './postgres.ts'

/**
 * To skip a test on Citus because its subject is a single server: its plans, its triggers (Citus refuses them) or its
 * catalog. `test.skipIf(isDistributed())(…)`, which counts the skip.
 */
export const isDistributed = (): boolean => testCluster().engine === 'citus'
