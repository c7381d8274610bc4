import type { Logger } from 'pino'
import { withJitter, type Loop, startLoop } from '../../platform/background/loop.ts'
import { errorForLog } from '../../platform/background/error-for-log.ts'
import { type SigningKeyContext, rotateSigningKeys } from './signing-keys.ts'

export interface KeyMaintenanceOptions extends SigningKeyContext {
  log: Logger
  /** Resolves once the database is available and migrated. */
  ready: Promise<unknown>
}

const checkInterval = 10 * 60_000

/** Rotates the signing keys when due and deletes expired ones; of several processes, one does it. */
export const createKeyMaintenance = ({ log, ready, ...context }: KeyMaintenanceOptions): Loop =>
  startLoop({
    ready,
    retryMilliseconds: checkInterval,
    onError: (error) => log.error(errorForLog(error), 'signing keys: maintenance failed; it will be retried'),
    run: async () => {
      const rotation = await rotateSigningKeys(context, { onlyIfDue: true })
      if (rotation.rotated) log.info({ active: rotation.active, retired: rotation.retired }, 'signing keys: rotated')
      return withJitter(checkInterval)
    },
  })
