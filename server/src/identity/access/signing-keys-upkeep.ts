import type { Logger } from 'pino'
import { jittered, type Loop, startLoop } from '../../platform/background/loop.ts'
import { reported } from '../../platform/background/reported.ts'
import { type KeyPlace, rotateSigningKeys } from './signing-keys.ts'

export interface KeyUpkeepOptions extends KeyPlace {
  log: Logger
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

const betweenLooks = 10 * 60_000

/** Rotates the signing keys when it is time, and takes away those that are over; one of several processes does it. */
export const createKeyUpkeep = ({ log, ready, ...place }: KeyUpkeepOptions): Loop =>
  startLoop({
    ready,
    retryMilliseconds: betweenLooks,
    failed: (error) => log.error(reported(error), 'signing keys: maintenance failed; it will be retried'),
    run: async () => {
      const rotation = await rotateSigningKeys(place, { onlyIfDue: true })
      if (rotation.rotated) log.info({ active: rotation.active, retired: rotation.retired }, 'signing keys: rotated')
      return jittered(betweenLooks)
    },
  })
