import type { Logger } from 'pino'
import { errorForLog } from '../platform/background/error-for-log.ts'
import { joinLoops, type Loop, pause } from '../platform/background/loop.ts'
import type { Database } from '../platform/database/database.ts'
import { isTransient } from '../platform/database/failures.ts'
import { createEgress } from '../platform/egress/egress.ts'
import type { AllowedHost } from '../platform/egress/allow.ts'
import type { Services } from '../platform/http/route.ts'
import type { Secret } from '../platform/secret/secret.ts'
import { organizationsByRecords } from '../identity/teams/store.ts'
import { startSweep, type Wakeups } from '../platform/queue/wakeups.ts'
import { startQueueWorkers } from '../platform/queue/workers.ts'
import { dispatchQueue, leaseNext } from './dispatch-store.ts'
import { planDeliveries, planningQueue } from './planning-store.ts'
import { storeReport } from './report-store.ts'
import { Messages } from './messages.ts'
import { maxConcurrent, Session, type SessionContext } from './session.ts'
import { type EventSources, webhookStore } from './store.ts'

export interface WebhooksOptions {
  /** The pool of background work. */
  database: Database
  secret: Secret
  log: Logger
  wakeups: Wakeups
  ready: Promise<unknown>
  egressAllow: readonly AllowedHost[]
  plaintextHosts: readonly AllowedHost[]
  sources: EventSources
  /** Known once the service listens. */
  services: () => Pick<Services, 'origin' | 'mail'>
  /** Webhooks that this process sends to at the same time; 0 leaves them to other processes. */
  webhookConcurrency: number
}

const planningIntervals = { shortest: 50, longest: 500 }
/** If workers search the queue, planning asks in its own statement whether deliveries are due: an idle second costs less. */
const dispatchIntervals = ({ searchesQueues }: Wakeups) => ({ shortest: 20, longest: searchesQueues ? 10_000 : 500 })
/** Milliseconds that attempts in progress get when the service stops. */
const grace = 2000

/** Follows the feeds for webhooks, and sends what they select. Several processes share the work. */
export function startWebhooks(options: WebhooksOptions): Loop {
  const { database, sources, services, log, webhookConcurrency } = options
  const [stopping, ending] = [new AbortController(), new AbortController()]
  const sessions = new Set<Promise<void>>()
  const store = webhookStore(sources)
  // Apart from other requests, so that slow receivers delay none of those.
  const egress = createEgress({
    allowed: options.egressAllow,
    plaintextHosts: options.plaintextHosts,
    maxConcurrent: maxConcurrent * webhookConcurrency,
  })
  const context: SessionContext = {
    ...options,
    messages: new Messages({ database, sources, origin: () => services().origin }),
    egress,
    stopping: stopping.signal,
    ending: ending.signal,
    report: async (transaction, lease, report) => {
      await storeReport(store, transaction, lease, report)
      services().mail.wake()
    },
  }
  const begin = async (organizationId: string): Promise<boolean> => {
    if (sessions.size >= webhookConcurrency) await Promise.race(sessions)
    const lease = await leaseNext(database, organizationId)
    if (!lease) return false
    const session = new Session(context, lease)
      .run()
      .catch((error: unknown) => {
        if (!isTransient(error)) log.error(errorForLog(error), 'webhooks: sending failed; it is tried again')
      })
      .finally(() => sessions.delete(session))
    sessions.add(session)
    return true
  }
  const workers = Math.min(1, webhookConcurrency)
  const common = { ...options, workers, isTransient }
  const dispatching = startQueueWorkers(dispatchQueue, {
    ...common,
    pollIntervals: dispatchIntervals(options.wakeups),
    work: begin,
  })
  const planned = planningQueue(() => dispatching.wake())
  const planning = startQueueWorkers(planned, {
    ...common,
    pollIntervals: planningIntervals,
    work: async (organizationId) => {
      const hasPlanned = await planDeliveries(database, organizationId, sources)
      if (hasPlanned) dispatching.wake()
      return hasPlanned
    },
  })
  const sweeping = {
    ...options,
    name: 'webhooks',
    seconds: 1,
    organizations: organizationsByRecords,
    kinds: [planned, dispatchQueue],
  }
  const loops = joinLoops([planning, dispatching, ...(workers === 0 ? [] : [startSweep(sweeping)])])
  return {
    wake: loops.wake,
    close: async () => {
      stopping.abort()
      const closed = loops.close()
      await Promise.race([Promise.all(sessions), pause(grace, new AbortController().signal)])
      ending.abort()
      await Promise.all([closed, ...sessions])
      egress.close()
    },
  }
}
