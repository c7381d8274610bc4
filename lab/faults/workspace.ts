import { createWorkspace, type Workspace } from '../shared/service.ts'

/** A temporary folder for one scenario. Rows of a dead worker are soon claimed again. */
export const createFaultsWorkspace = (root: string): Promise<Workspace> =>
  createWorkspace(root, 'faults', { LOG_LEVEL: 'warn', IMPORT_LEASE_SECONDS: '5' })
