import { errorForLog } from '../../platform/background/error-for-log.ts'
import type { Loop } from '../../platform/background/loop.ts'
import type { Database } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/failures.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { imports } from '../../intake/imports/resource.ts'
import type { Analyse } from '../analysis/analysis.ts'
import { doublingDelay, type RetryPolicy } from '../../platform/queue/queue.ts'
import { retryTransient } from '../../platform/queue/retry.ts'
import { type QueueWorkersOptions, startQueueWorkers } from '../../platform/queue/workers.ts'
import { type Claim, type ClaimedNote, claimNotes, releaseNotes } from './claim-store.ts'
import { noteQueue } from './queue-store.ts'
import type { StoredAnalysis } from './result-rows.ts'
import { type AnalysedNote, storeAnalyses } from './result-store.ts'

/** `workers`: the number of batches in progress. */
export interface AnalysisWorkersOptions extends Pick<QueueWorkersOptions, 'ready' | 'log' | 'wakeups' | 'workers'> {
  /** The pool of background work, so that analyses and requests do not starve each other. */
  database: Database
  analyse: Analyse
  /** Notes of a batch: one if the engine waits for a network, so that a slow answer does not delay other notes. */
  maxNotes: number
  onAnalysed?: (analysis: StoredAnalysis) => void
}

const pollIntervals = { shortest: 50, longest: 1000 }
/** Then the rest of a batch is free for others. */
const maxBatchSeconds = 20
/** Longer than a batch can take. If a process dies, another one takes over its notes after this time. */
const leaseSeconds = 60
/** A note whose process has ended counts as failed, too. After the last attempt, it is recorded as failed. */
export const retryPolicy: RetryPolicy = { attempts: 5, firstDelaySeconds: 5, maxDelaySeconds: 5120 }

/** Analyses queued notes until it is closed. Several processes on one database share the work. */
export function createAnalysisWorkers(options: AnalysisWorkersOptions): Loop {
  const { database, maxNotes } = options
  return startQueueWorkers(noteQueue, {
    ...options,
    pollIntervals,
    isTransient,
    work: async (organizationId, signal) => {
      const claim = await claimNotes(database, organizationId, { maxNotes, leaseSeconds })
      if (claim.notes.length > 0) await processClaim({ ...options, signal }, claim)
      return claim.notes.length > 0
    },
  })
}

interface Context extends AnalysisWorkersOptions {
  /** Aborts when the workers are closed. */
  signal: AbortSignal
}

async function processClaim(context: Context, claim: Claim): Promise<void> {
  const analysed: AnalysedNote[] = []
  const failed: ClaimedNote[] = []
  const end = performance.now() + maxBatchSeconds * 1000
  for (const note of claim.notes) {
    if (context.signal.aborted || performance.now() > end) break
    const analysis = await analyseNote(context, claim, note)
    if (analysis) analysed.push({ note, analysis })
    else if (!context.signal.aborted) failed.push(note)
  }
  await store(context, claim, analysed)
  for (const note of failed)
    await release(context, { ...claim, notes: [note] }, doublingDelay(retryPolicy, note.attempts))
  const done = new Set([...failed, ...analysed.map(({ note }) => note)])
  const rest = claim.notes.filter((note) => !done.has(note))
  if (rest.length > 0) await release(context, { ...claim, notes: rest })
}

/** Undefined if the analysis failed and is tried again, or if the service is stopping. */
async function analyseNote(
  { analyse, signal, log }: Context,
  { organizationId }: Claim,
  { id, text, facts, attempts }: ClaimedNote,
): Promise<StoredAnalysis | undefined> {
  // The process has ended during each attempt, or each one failed.
  if (attempts > retryPolicy.attempts) return failedAnalysis
  try {
    return await analyse({ organizationId, text }, facts, signal)
  } catch (error) {
    if (!signal.aborted) log.error({ note: encodeId('not', id), ...errorForLog(error) }, 'notes: an analysis failed')
    return undefined
  }
}

/** Of a note that could not be analysed. */
export const failedAnalysis: StoredAnalysis = {
  intent: 'unclear',
  language: 'other',
  actions: [],
  suspicious: false,
  engine: 'rules',
  model: null,
  promptVersion: 'none',
  inputHash: 'none',
  latencyMs: 0,
  tokens: 0,
  degraded: true,
  degradedReason: 'failed',
}

/** Stores the results together or, if that fails, each alone, so that one does not prevent the others. */
async function store(context: Context, claim: Claim, analysed: readonly AnalysedNote[]): Promise<void> {
  if (analysed.length === 0) return
  try {
    await retryWhileLeased(context, async () => {
      for (const importId of await storeAnalyses(context.database, claim, analysed)) {
        const subject = { import: encodeId(imports.idPrefix, importId) }
        context.log.warn(subject, 'an import opts out many contacts: its opt-outs wait for a person')
      }
    })
    for (const { analysis } of analysed) context.onAnalysed?.(analysis)
  } catch (error) {
    const [only, ...others] = analysed
    if (!only || isTransient(error)) throw error
    if (others.length > 0) {
      for (const one of analysed) await store(context, claim, [one])
      return
    }
    const { note } = only
    context.log.error({ note: encodeId('not', note.id), ...errorForLog(error) }, 'notes: storing an analysis failed')
    await release(context, { ...claim, notes: [note] }, doublingDelay(retryPolicy, note.attempts))
  }
}

const release = (context: Context, claim: Claim, delaySeconds?: number): Promise<void> =>
  retryWhileLeased(context, () => releaseNotes(context.database, claim, delaySeconds))

/** After the lease, another process has the notes. */
async function retryWhileLeased({ signal }: Context, write: () => Promise<void>): Promise<void> {
  const failure = await retryTransient(
    { signal, deadline: performance.now() + leaseSeconds * 1000, isTransient },
    write,
  )
  if (failure) throw failure.lastError
}
