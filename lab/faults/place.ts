import { makePlace, type Place } from '../shared/service.ts'

/** A temporary folder for one scenario. Rows of a dead worker are soon claimed again. */
export const makeFaultsPlace = (root: string): Promise<Place> =>
  makePlace(root, 'faults', { LOG_LEVEL: 'warn', IMPORT_LEASE_SECONDS: '5' })
