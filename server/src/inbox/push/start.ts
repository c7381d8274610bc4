import { joinLoops, type Loop } from '../../platform/background/loop.ts'
import { isTransient } from '../../platform/database/failures.ts'
import type { AllowedHost } from '../../platform/egress/allow.ts'
import { createEgress } from '../../platform/egress/egress.ts'
import type { Wakeups } from '../../platform/queue/wakeups.ts'
import { startQueueWorkers } from '../../platform/queue/workers.ts'
import { composeNotification } from './compose.ts'
import { passOn, pushQueue } from './entries-store.ts'
import { maxConcurrent, type PushWorkerOptions, startPushWorker } from './worker.ts'

export interface PushOptions extends Pick<PushWorkerOptions, 'database' | 'secret' | 'log' | 'ready'> {
  wakeups: Wakeups
  egressAllow: readonly AllowedHost[]
  plaintextHosts: readonly AllowedHost[]
  /** Sender of mails. */
  mailFrom: { address: string } | undefined
  publicUrl: string | undefined
}

const pollIntervals = { shortest: 100, longest: 1000 }

/** Passes entries of inboxes on to the browsers of their people. */
export function startPush(options: PushOptions): Loop {
  const { database, egressAllow: allowed, plaintextHosts, mailFrom, publicUrl } = options
  const sending = startPushWorker({
    ...options,
    egress: createEgress({ allowed, plaintextHosts, maxConcurrent }),
    contact: contactOf(mailFrom?.address, publicUrl),
    compose: (message) => composeNotification(database, message),
  })
  const passing = startQueueWorkers(pushQueue, {
    ...options,
    workers: 1,
    pollIntervals,
    isTransient,
    work: async (organizationId) => {
      const hasPassedOn = await passOn(database, organizationId)
      if (hasPassedOn) sending.wake()
      return hasPassedOn
    },
  })
  return joinLoops([passing, sending])
}

/** The address, or the page on https, where a push service reaches the operator. */
function contactOf(address: string | undefined, publicUrl: string | undefined): string | undefined {
  if (address !== undefined) return `mailto:${address}`
  return publicUrl?.startsWith('https://') ? new URL(publicUrl).origin : undefined
}
