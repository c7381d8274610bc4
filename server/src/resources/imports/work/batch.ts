import { serviceActor } from '../../../platform/model/caller.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { newId } from '../../../platform/model/ids.ts'
import type { Change } from '../../../platform/resource/write.ts'
import { companyStore } from '../../companies/store.ts'
import { contactStore } from '../../contacts/store.ts'
import { allEmploymentStore } from '../../employments/store.ts'
import { allNoteStore } from '../../notes/store.ts'
import { finding } from '../resource.ts'
import { type Locked, readKnown } from '../merge/match-store.ts'
import { readPush } from '../payload/payload.ts'
import { type LeadRow, type Outcome, type Plan, reconcile } from '../merge/reconcile.ts'
import {
  awaitTurnToWork,
  type Claim,
  type ClaimedRow,
  claimRows,
  endRows,
  holdRows,
  type LeasedRows,
  readRows,
  tryTurnToClaim,
} from './work-store.ts'

/**
 * Works on rows that are claimed already, in one transaction: contacts, companies, jobs, notes and the rows' own ends are
 * kept together or not at all. Rows that the claim has lost meanwhile are left alone.
 */
export async function workOn(database: Database, claim: Claim): Promise<void> {
  await database.transaction(serviceActor('work', claim.organizationId), async (transaction) => {
    await awaitTurnToWork(transaction)
    await workThrough(transaction, claim, await readLeads(transaction, claim))
  })
}

/**
 * Claims the organization's next rows and works on them. `claimed` is told the lease before the claim and its rows before
 * anything is done, for whoever has to clean up after a failure. False when there was nothing to do: another worker is
 * next, or has the rows.
 */
export async function workOnNext(
  database: Database,
  organizationId: string,
  { claimed, ...limits }: { most: number; leaseSeconds: number; claimed: (claim: LeasedRows) => void },
): Promise<boolean> {
  const actor = serviceActor('work', organizationId)
  let taken: Taken | undefined
  return database.transaction(actor, async (transaction) => {
    // Repeated after it met another change, it has its rows already: nobody else can take them.
    if (taken) await awaitTurnToWork(transaction)
    else {
      const lease = newId()
      claimed({ organizationId, lease, rowIds: 'all' })
      // In a transaction of its own: a crash must not forget who had the rows.
      taken = await database.transaction(actor, (claiming) => take(claiming, { ...limits, lease, turn }))
      if (!taken) return false
      claimed(taken.claim)
    }
    await workThrough(transaction, taken.claim, taken.leads)
    return true

    function turn(): Promise<void> {
      return awaitTurnToWork(transaction)
    }
  })
}

interface Taken {
  claim: Claim
  leads: readonly (LeadRow | Outcome)[]
}

interface TakeOptions {
  most: number
  leaseSeconds: number
  lease: string
  /** Waits until the work may begin. */
  turn: () => Promise<void>
}

/** Claims rows and reads them; undefined when there are none for this worker. */
async function take(transaction: Transaction, { turn, ...limits }: TakeOptions): Promise<Taken | undefined> {
  if (!(await tryTurnToClaim(transaction))) return undefined
  const claim = await claimRows(transaction, limits)
  if (claim.rowIds.length === 0) return undefined
  const leads = await readLeads(transaction, claim)
  await turn()
  return { claim, leads }
}

const readLeads = async (transaction: Transaction, { rowIds }: Claim): Promise<(LeadRow | Outcome)[]> =>
  (await readRows(transaction, rowIds)).map(leadOf)

async function workThrough(
  transaction: Transaction,
  claim: Claim,
  leads: readonly (LeadRow | Outcome)[],
): Promise<void> {
  const all = leads.flatMap((one) => ('lead' in one ? [one] : []))
  const [held, known] = await Promise.all([holdRows(transaction, claim), readKnown(transaction, all)])
  const rows = all.filter(({ id }) => held.has(id))
  const invalid = leads.flatMap((one) => ('status' in one && held.has(one.rowId) ? [one] : []))
  const plan = reconcile(rows, known)
  // The database ends the rows while the next set is being put together.
  await Promise.all([write(transaction, plan, known), endRows(transaction, [...plan.outcomes, ...invalid])])
}

/** Companies first, contacts before what belongs to them: each refers to what is there already. */
async function write(transaction: Transaction, plan: Plan, { people, employers }: Locked): Promise<void> {
  // Jobs were read without being locked; those that change are, as they are written.
  const isNew = ({ kind }: Change) => kind === 'create'
  const [newJobs, changedJobs] = [plan.employments.filter(isNew), plan.employments.filter((change) => !isNew(change))]
  const held = new Set([...employers.keys(), ...plan.companies.flatMap(({ id }) => id ?? [])])
  const sets = [
    { store: companyStore, changes: plan.companies, known: employers },
    { store: contactStore, changes: plan.contacts, known: people },
    { store: allEmploymentStore, changes: newJobs, known: new Map() },
    { store: allEmploymentStore, changes: changedJobs, known: undefined },
    { store: allNoteStore, changes: plan.notes, known: new Map() },
  ]
  for (const { store, changes, known } of sets)
    if (changes.length > 0) await store.write(transaction, changes, { known, held })
}

/** Payloads were checked when they were pushed; one that fails now was taken by an older version. */
function leadOf({ id, payload, parameters, teamId, tags, mergePolicy }: ClaimedRow): LeadRow | Outcome {
  const read = readPush(payload, parameters)
  if ('lead' in read) return { id, lead: read.lead, teamId, tags, mergePolicy }
  const errors = read.faults.map(({ field, message }) => finding('invalid_payload', field, message))
  return { rowId: id, status: 'INVALID', contactId: null, companyId: null, warnings: [], errors, changes: [] }
}
