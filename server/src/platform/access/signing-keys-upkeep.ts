import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type KeyPlace, rotateSigningKeys } from './signing-keys.ts'

export interface KeyUpkeepOptions extends KeyPlace {
  log: Logger
  /** Resolves once the database is there and has its tables. */
  ready: Promise<unknown>
}

const betweenLooks = 10 * 60_000

/** Rotates the signing keys when it is time, and takes away those that are over; one of several processes does it. */
export function createKeyUpkeep({ log, ready, ...place }: KeyUpkeepOptions): { close(): Promise<void> } {
  const closing = new AbortController()
  const running = ready.then(
    async () => {
      while (!closing.signal.aborted) {
        await look(place, log)
        // Not in step with other processes.
        const pause = betweenLooks * (0.75 + Math.random() / 2)
        await delay(pause, undefined, { signal: closing.signal }).catch(() => undefined)
      }
    },
    () => undefined,
  )
  return {
    close: async () => {
      closing.abort()
      await running
    },
  }
}

async function look(place: KeyPlace, log: Logger): Promise<void> {
  try {
    const rotation = await rotateSigningKeys(place, { onlyIfDue: true })
    if (rotation.rotated) log.info({ active: rotation.active, retired: rotation.retired }, 'signing keys: rotated')
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    log.error({ error: message }, 'signing keys: looking after them failed; it is tried again')
  }
}
