import { createWorkspace, type Workspace } from '../shared/service.ts'

/** Creates a temporary folder for one scenario. The short lease lets rows of a dead worker be claimed again soon. */
export const createFaultsWorkspace = (root: string): Promise<Workspace> =>
  createWorkspace(root, 'faults', { LOG_LEVEL: 'warn', IMPORT_LEASE_SECONDS: '5' })
