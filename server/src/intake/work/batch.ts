import { serviceActor } from '../../platform/model/caller.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/model/ids.ts'
import { companyStore } from '../../crm/companies/store.ts'
import { contactStore } from '../../crm/contacts/store.ts'
import { allEmploymentStore } from '../../crm/employments/store.ts'
import { idsOf, updateLastActivity } from '../../crm/last-activity/store.ts'
import { allNoteStore } from '../../crm/notes/store.ts'
import { finding } from '../imports/resource.ts'
import { fitCustomProperties } from '../merge/properties-store.ts'
import { type Locked, preloadRecords } from '../merge/match-store.ts'
import { parsePush } from '../payload/payload.ts'
import { type LeadRow, type Outcome, type Plan, reconcile } from '../merge/reconcile.ts'
import {
  lockWork,
  type Claim,
  type ClaimedRow,
  claimRows,
  finishRows,
  lockRows,
  type LeasedRows,
  type OnFailedRows,
  readRows,
  tryLockClaims,
} from './work-store.ts'
import type { Change } from '../../platform/records/declare/changes.ts'

/**
 * Processes claimed rows in one transaction: contacts, companies, employments, notes and the outcomes of the rows are
 * written together or not at all. Rows that the claim has lost meanwhile are skipped.
 */
export async function processClaim(database: Database, claim: Claim, onFailedRows?: OnFailedRows): Promise<void> {
  await database.transaction(serviceActor('work', claim.organizationId), async (transaction) => {
    await lockWork(transaction)
    await processLeads(transaction, claim, await readLeads(transaction, claim), onFailedRows)
  })
}

/**
 * Claims the next rows of the organization and processes them. `onClaimed` receives the lease before the claim, and the
 * rows before they are processed, for cleaning up after a failure. False if there was nothing to do: another worker has
 * the lock or the rows.
 */
export async function processNextBatch(
  database: Database,
  organizationId: string,
  {
    onClaimed,
    onFailedRows,
    ...limits
  }: {
    maxRows: number
    leaseSeconds: number
    onClaimed: (claim: LeasedRows) => void
    onFailedRows?: OnFailedRows | undefined
  },
): Promise<boolean> {
  const actor = serviceActor('work', organizationId)
  let claimedLeads: ClaimedLeads | undefined
  return database.transaction(actor, async (transaction) => {
    // A transaction that is retried after a conflict has its rows already; nobody else can claim them.
    if (claimedLeads) await lockWork(transaction)
    else {
      const lease = newId()
      onClaimed({ organizationId, lease, rowIds: 'all' })
      // In a separate transaction, so that a crash does not undo the claim.
      claimedLeads = await database.transaction(actor, (claiming) =>
        claimAndRead(claiming, { ...limits, lease, onFailedRows, acquireWorkLock }),
      )
      if (!claimedLeads) return false
      onClaimed(claimedLeads.claim)
    }
    await processLeads(transaction, claimedLeads.claim, claimedLeads.leads, onFailedRows)
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
  onFailedRows: OnFailedRows | undefined
  /** Waits for the lock to process rows. */
  acquireWorkLock: () => Promise<void>
}

/** Claims rows and reads them; undefined if this worker gets none. */
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
  onFailedRows: OnFailedRows | undefined,
): Promise<void> {
  const { rows: all, holders } = await fitCustomProperties(
    transaction,
    leads.flatMap((one) => ('lead' in one ? [one] : [])),
  )
  const [locked, preloaded] = await Promise.all([lockRows(transaction, claim), preloadRecords(transaction, all)])
  const rows = all.filter(({ id }) => locked.has(id))
  const invalid = leads.flatMap((one) => ('status' in one && locked.has(one.rowId) ? [one] : []))
  const plan = reconcile(rows, { ...preloaded, holders })
  // The database finishes the rows while the next set is being prepared.
  await Promise.all([
    write(transaction, plan, preloaded),
    finishRows(transaction, [...plan.outcomes, ...invalid], locked),
  ])
  const failed = [...plan.outcomes, ...invalid].filter(({ status }) => status === 'INVALID' || status === 'CONFLICT')
  if (failed.length > 0)
    await onFailedRows?.(
      transaction,
      failed.map(({ rowId }) => rowId),
    )
}

/** Companies first, then contacts, then their dependent records, so that references exist. */
async function write(transaction: Transaction, plan: Plan, { people, employers }: Locked): Promise<void> {
  // Employments were read without locks; changed ones are locked when they are written.
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
    if (changes.length > 0) await store.write(transaction, changes, { preloaded, locked, mayLackRequired: true })
  const { contactIds, companyIds } = plan.active
  updateLastActivity(transaction, { contacts: idsOf(contactIds), companies: idsOf(companyIds) })
}

/** Payloads were validated when they were pushed; one that is invalid now was accepted by an older version. */
function leadOf({ id, payload, parameters, ...settings }: ClaimedRow): LeadRow | Outcome {
  const read = parsePush(payload, parameters)
  if ('lead' in read) return { id, lead: read.lead, ...settings }
  const errors = read.errors.map(({ field, message }) => finding('invalid_payload', field, message))
  return { rowId: id, status: 'INVALID', contactId: null, companyId: null, warnings: [], errors, changes: [] }
}
