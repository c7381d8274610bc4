import { serviceActor } from '../../../platform/model/caller.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { newId } from '../../../platform/model/ids.ts'
import type { Change } from '../../../platform/resource/write.ts'
import { companyStore } from '../../companies/store.ts'
import { contactStore } from '../../contacts/store.ts'
import { allEmploymentStore } from '../../employments/store.ts'
import { allNoteStore } from '../../notes/store.ts'
import { finding } from '../resource.ts'
import { type Locked, preloadRecords } from '../merge/match-store.ts'
import { readPush } from '../payload/payload.ts'
import { type LeadRow, type Outcome, type Plan, reconcile } from '../merge/reconcile.ts'
import {
  lockWork,
  type Claim,
  type ClaimedRow,
  claimRows,
  finishRows,
  lockRows,
  type LeasedRows,
  readRows,
  tryLockClaims,
} from './work-store.ts'

/**
 * Works on rows that are claimed already, in one transaction: contacts, companies, jobs, notes and the rows' own ends are
 * kept together or not at all. Rows that the claim has lost meanwhile are left alone.
 */
export async function processClaim(database: Database, claim: Claim): Promise<void> {
  await database.transaction(serviceActor('work', claim.organizationId), async (transaction) => {
    await lockWork(transaction)
    await processLeads(transaction, claim, await readLeads(transaction, claim))
  })
}

/**
 * Claims the organization's next rows and works on them. `claimed` is told the lease before the claim and its rows before
 * anything is done, for whoever has to clean up after a failure. False when there was nothing to do: another worker is
 * next, or has the rows.
 */
export async function processNextBatch(
  database: Database,
  organizationId: string,
  { onClaimed, ...limits }: { maxRows: number; leaseSeconds: number; onClaimed: (claim: LeasedRows) => void },
): Promise<boolean> {
  const actor = serviceActor('work', organizationId)
  let claimedLeads: ClaimedLeads | undefined
  return database.transaction(actor, async (transaction) => {
    // Repeated after it met another change, it has its rows already: nobody else can take them.
    if (claimedLeads) await lockWork(transaction)
    else {
      const lease = newId()
      onClaimed({ organizationId, lease, rowIds: 'all' })
      // In a transaction of its own: a crash must not forget who had the rows.
      claimedLeads = await database.transaction(actor, (claiming) =>
        claimAndRead(claiming, { ...limits, lease, acquireWorkLock }),
      )
      if (!claimedLeads) return false
      onClaimed(claimedLeads.claim)
    }
    await processLeads(transaction, claimedLeads.claim, claimedLeads.leads)
    return true

    function acquireWorkLock(): Promise<void> {
      return lockWork(transaction)
    }
  })
}

interface ClaimedLeads {
  claim: Claim
  leads: readonly (LeadRow | Outcome)[]
}

interface ClaimOptions {
  maxRows: number
  leaseSeconds: number
  lease: string
  /** Waits until the work may begin. */
  acquireWorkLock: () => Promise<void>
}

/** Claims rows and reads them; undefined when there are none for this worker. */
async function claimAndRead(
  transaction: Transaction,
  { acquireWorkLock, ...limits }: ClaimOptions,
): Promise<ClaimedLeads | undefined> {
  if (!(await tryLockClaims(transaction))) return undefined
  const claim = await claimRows(transaction, limits)
  if (claim.rowIds.length === 0) return undefined
  const leads = await readLeads(transaction, claim)
  await acquireWorkLock()
  return { claim, leads }
}

const readLeads = async (transaction: Transaction, { rowIds }: Claim): Promise<(LeadRow | Outcome)[]> =>
  (await readRows(transaction, rowIds)).map(leadOf)

async function processLeads(
  transaction: Transaction,
  claim: Claim,
  leads: readonly (LeadRow | Outcome)[],
): Promise<void> {
  const all = leads.flatMap((one) => ('lead' in one ? [one] : []))
  const [locked, preloaded] = await Promise.all([lockRows(transaction, claim), preloadRecords(transaction, all)])
  const rows = all.filter(({ id }) => locked.has(id))
  const invalid = leads.flatMap((one) => ('status' in one && locked.has(one.rowId) ? [one] : []))
  const plan = reconcile(rows, preloaded)
  // The database ends the rows while the next set is being put together.
  await Promise.all([write(transaction, plan, preloaded), finishRows(transaction, [...plan.outcomes, ...invalid])])
}

/** Companies first, contacts before what belongs to them: each refers to what is there already. */
async function write(transaction: Transaction, plan: Plan, { people, employers }: Locked): Promise<void> {
  // Jobs were read without being locked; those that change are, as they are written.
  const isNew = ({ kind }: Change) => kind === 'create'
  const [newJobs, changedJobs] = [plan.employments.filter(isNew), plan.employments.filter((change) => !isNew(change))]
  const locked = new Set([...employers.keys(), ...plan.companies.flatMap(({ id }) => id ?? [])])
  const sets = [
    { store: companyStore, changes: plan.companies, preloaded: employers },
    { store: contactStore, changes: plan.contacts, preloaded: people },
    { store: allEmploymentStore, changes: newJobs, preloaded: new Map() },
    { store: allEmploymentStore, changes: changedJobs, preloaded: undefined },
    { store: allNoteStore, changes: plan.notes, preloaded: new Map() },
  ]
  for (const { store, changes, preloaded } of sets)
    if (changes.length > 0) await store.write(transaction, changes, { preloaded, locked })
}

/** Payloads were checked when they were pushed; one that fails now was taken by an older version. */
function leadOf({ id, payload, parameters, teamId, tags, mergePolicy }: ClaimedRow): LeadRow | Outcome {
  const read = readPush(payload, parameters)
  if ('lead' in read) return { id, lead: read.lead, teamId, tags, mergePolicy }
  const errors = read.faults.map(({ field, message }) => finding('invalid_payload', field, message))
  return { rowId: id, status: 'INVALID', contactId: null, companyId: null, warnings: [], errors, changes: [] }
}
