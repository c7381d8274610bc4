import type { Database } from '../src/platform/database/database.ts'
import { serviceActor } from '../src/platform/model/caller.ts'
import { newId, decodeId } from '../src/platform/model/ids.ts'
import { type Sql, sql } from '../src/platform/model/sql.ts'
import type { Queue } from '../src/platform/queue/queue.ts'
import { failedAnalysis, retryPolicy } from '../src/assistant/work/analysis-workers.ts'
import { claimNotes, releaseNotes } from '../src/assistant/work/claim-store.ts'
import { noteQueue } from '../src/assistant/work/queue-store.ts'
import type { StoredAnalysis } from '../src/assistant/work/result-rows.ts'
import { storeAnalyses } from '../src/assistant/work/result-store.ts'
import { processClaim } from '../src/intake/work/batch.ts'
import { importQueue } from '../src/intake/work/queue-store.ts'
import { claimRows, failRow, releaseRows } from '../src/intake/work/work-store.ts'
import type { TestOrganization, TestService } from './service.ts'

/** Items that a worker has claimed, and how it ends the claim. */
export interface TestClaim {
  /** Uuids. */
  items: readonly string[]
  finish(): Promise<void>
  release(): Promise<void>
  /** Tries the item again after about a second. */
  fail(item: string): Promise<void>
}

/** A queue of the product with what its laws need. Ids are uuids. */
export interface LeasedQueue {
  queue: Queue
  organizationIds: readonly string[]
  /** How often an item may be lost before it is given up. */
  maxLosses: number
  /** Does a failure count as a loss? Otherwise it ends a series of losses. */
  countsFailures: boolean
  clear(): Promise<void>
  add(organizationId: string, ids: readonly string[]): Promise<void>
  /** Claims a few items for `leaseSeconds`. */
  claim(organizationId: string): Promise<TestClaim>
  /** Makes what was stored as much older. */
  wait(seconds: number): Promise<void>
  /** The item of each result that was stored. */
  results(): Promise<string[]>
  givenUp(): Promise<string[]>
}

export const leaseSeconds = 60
/** Few, so that an organization has several batches. */
const batchSize = 3

const uuidOf = ({ organizationId }: TestOrganization): string => decodeId('org', organizationId) ?? ''

const reader = (database: Database) => ({
  run: (statement: Sql) => database.crossTenantQuery<{ id: string }>('check the database', statement),
  ids: async (statement: Sql) =>
    (await database.crossTenantQuery<{ id: string }>('check the database', statement)).map(({ id }) => id),
})

/** The rows of imports. A result is a note. */
export function leasedRows({ database }: TestService, organizations: readonly TestOrganization[]): LeasedQueue {
  const { run, ids: read } = reader(database)
  const importOf = new Map(organizations.map((one) => [uuidOf(one), decodeId('imp', one.importId)]))
  return {
    queue: importQueue,
    organizationIds: [...importOf.keys()].sort(),
    maxLosses: 3,
    countsFailures: false,
    async clear() {
      await run(sql`delete from notes`)
      await run(sql`delete from import_rows`)
    },
    async add(organizationId, ids) {
      const payloads = ids.map((id) => JSON.stringify({ contact: { email: `${id}@example.com`, note: id } }))
      await run(sql`insert into import_rows (organization_id, import_id, id, payload)
        select ${organizationId}::uuid, ${importOf.get(organizationId)}::uuid, id, payload::json
        from unnest(${ids}::uuid[], ${payloads}::text[]) as given (id, payload)`)
    },
    async claim(organizationId) {
      const claim = await database.transaction(serviceActor('work', organizationId), (transaction) =>
        claimRows(transaction, { maxRows: batchSize, leaseSeconds }),
      )
      const policy = { attempts: 100, firstDelaySeconds: 1, maxDelaySeconds: 1 }
      return {
        items: claim.rowIds,
        finish: () => processClaim(database, claim),
        release: () => releaseRows(database, claim),
        fail: (item) => failRow(database, { ...claim, rowIds: [item] }, policy),
      }
    },
    async wait(seconds) {
      await run(sql`update import_rows set run_at = run_at - make_interval(secs => ${seconds})`)
    },
    results: () => read(sql`select import_row_id as id from notes`),
    givenUp: () => read(sql`select id from import_rows where status = 'DEAD'`),
  }
}

const emptyAnalysis: StoredAnalysis = { ...failedAnalysis, degraded: false, degradedReason: undefined }

/** The notes that wait for their analysis, as the result. */
export async function leasedNotes(
  { database }: TestService,
  organizations: readonly TestOrganization[],
): Promise<LeasedQueue> {
  const { run, ids: read } = reader(database)
  const contactOf = new Map<string, string | undefined>()
  for (const one of organizations) {
    const { body } = await one.call('POST', '/v5/contacts', { body: { name: 'Ada' } })
    contactOf.set(uuidOf(one), decodeId('con', body.id))
  }
  return {
    queue: noteQueue,
    organizationIds: [...contactOf.keys()].sort(),
    maxLosses: retryPolicy.attempts,
    countsFailures: true,
    clear: async () => void (await run(sql`delete from notes`)),
    async add(organizationId, ids) {
      await run(sql`insert into notes (organization_id, contact_id, id, body, reasoning_queued_at)
        select ${organizationId}::uuid, ${contactOf.get(organizationId)}::uuid, id, 'Hello', now()
        from unnest(${ids}::uuid[]) as given (id)`)
    },
    async claim(organizationId) {
      const claim = await claimNotes(database, organizationId, { maxNotes: batchSize, leaseSeconds })
      const isLost = ({ attempts }: { attempts: number }) => attempts > retryPolicy.attempts
      const lost = claim.notes.filter(isLost)
      await storeAnalyses(
        database,
        claim,
        lost.map((note) => ({ note, analysis: failedAnalysis })),
      )
      const notes = claim.notes.filter((note) => !isLost(note))
      return {
        items: notes.map(({ id }) => id),
        finish: async () =>
          void (await storeAnalyses(
            database,
            claim,
            notes.map((note) => ({ note, analysis: emptyAnalysis })),
          )),
        release: () => releaseNotes(database, { ...claim, notes }),
        fail: (item) => releaseNotes(database, { ...claim, notes: notes.filter(({ id }) => id === item) }, 1),
      }
    },
    async wait(seconds) {
      await run(sql`update note_leases set expires_at = expires_at - make_interval(secs => ${seconds})`)
    },
    results: () => read(sql`select note_id as id from note_analyses where not degraded`),
    givenUp: () => read(sql`select note_id as id from note_analyses where degraded`),
  }
}

export const newIds = (count: number): string[] => Array.from({ length: count }, () => newId())
