import { importActor } from '../../platform/access/import-actor.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { acrossParents } from '../../platform/resource/define.ts'
import { newId } from '../../platform/resource/ids.ts'
import { standardStore } from '../../platform/resource/routes.ts'
import type { Change } from '../../platform/resource/write.ts'
import { companyStore } from '../companies/store.ts'
import { contactStore } from '../contacts/store.ts'
import { employments } from '../employments/resource.ts'
import { allNoteStore } from '../notes/store.ts'
import { finding } from './resource.ts'
import { type Locked, readKnown } from './match-store.ts'
import { readPush } from './payload.ts'
import { type LeadRow, type Outcome, type Plan, reconcile } from './reconcile.ts'
import {
  awaitTurn,
  type Claim,
  type ClaimedRow,
  claimRows,
  endRows,
  holdRows,
  type LeasedRows,
  tryTurn,
} from './work-store.ts'

const employmentStore = standardStore(acrossParents(employments))

/**
 * Works on rows that are claimed already, in one transaction: contacts, companies, jobs, notes and the rows' own ends are
 * kept together or not at all. Rows that the claim has lost meanwhile are left alone.
 */
export async function workOn(database: Database, claim: Claim): Promise<void> {
  await database.transaction(importActor(claim.organizationId), async (transaction) => {
    await awaitTurn(transaction)
    await workThrough(transaction, claim)
  })
}

/**
 * Claims the organization's next rows and works on them. `claimed` is told the lease before the claim and its rows before
 * anything is done, for whoever has to clean up after a failure. False when there was nothing to do: the organization is
 * another worker's just now, or its rows are.
 */
export async function workOnNext(
  database: Database,
  organizationId: string,
  { claimed, ...limits }: { most: number; leaseSeconds: number; claimed: (claim: LeasedRows) => void },
): Promise<boolean> {
  let claim: Claim | undefined
  return database.transaction(importActor(organizationId), async (transaction) => {
    // Repeated after it met another change, it has its rows already: nobody else can take them.
    if (claim) await awaitTurn(transaction)
    else {
      if (!(await tryTurn(transaction))) return false
      const lease = newId()
      claimed({ organizationId, lease, rowIds: 'all' })
      // In a transaction of its own: a crash must not forget who had the rows.
      claim = await claimRows(database, organizationId, { ...limits, lease })
      claimed(claim)
    }
    await workThrough(transaction, claim)
    return claim.rowIds.length > 0
  })
}

async function workThrough(transaction: Transaction, claim: Claim): Promise<void> {
  if (claim.rowIds.length === 0) return
  const read = (await holdRows(transaction, claim)).map(leadOf)
  const rows = read.flatMap((one) => ('lead' in one ? [one] : []))
  const invalid = read.flatMap((one) => ('status' in one ? [one] : []))
  const known = await readKnown(transaction, rows)
  const plan = reconcile(rows, known)
  await write(transaction, plan, known)
  await endRows(transaction, [...plan.outcomes, ...invalid])
}

/** Companies first, contacts before what belongs to them: each refers to what is there already. */
async function write(transaction: Transaction, plan: Plan, { people, employers }: Locked): Promise<void> {
  // Jobs were read without being locked; those that change are, as they are written.
  const isNew = ({ kind }: Change) => kind === 'create'
  const [newJobs, changedJobs] = [plan.employments.filter(isNew), plan.employments.filter((change) => !isNew(change))]
  const sets = [
    { store: companyStore, changes: plan.companies, known: employers },
    { store: contactStore, changes: plan.contacts, known: people },
    { store: employmentStore, changes: newJobs, known: new Map() },
    { store: employmentStore, changes: changedJobs, known: undefined },
    { store: allNoteStore, changes: plan.notes, known: new Map() },
  ]
  for (const { store, changes, known } of sets)
    if (changes.length > 0) await store.write(transaction, changes, { known })
}

/** Payloads were checked when they were pushed; one that fails now was taken by an older version. */
function leadOf({ id, payload, parameters, teamId, tags, mergePolicy }: ClaimedRow): LeadRow | Outcome {
  const read = readPush(payload, parameters)
  if ('lead' in read) return { id, lead: read.lead, teamId, tags, mergePolicy }
  const errors = read.faults.map(({ field, message }) => finding('invalid_payload', field, message))
  return { rowId: id, status: 'INVALID', contactId: null, companyId: null, warnings: [], errors, changes: [] }
}
