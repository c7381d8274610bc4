import { importActor } from '../../platform/access/import-actor.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { acrossParents } from '../../platform/resource/define.ts'
import { standardStore } from '../../platform/resource/routes.ts'
import type { Change } from '../../platform/resource/write.ts'
import { companyStore } from '../companies/store.ts'
import { contactStore } from '../contacts/store.ts'
import { employments } from '../employments/resource.ts'
import { allNoteStore } from '../notes/store.ts'
import { finding } from './findings.ts'
import { lockKeys, readKnown } from './match-store.ts'
import { readPush } from './payload.ts'
import { type LeadRow, type Outcome, type Plan, reconcile } from './reconcile.ts'
import { type Claim, type ClaimedRow, endRows, holdRows } from './work-store.ts'

const employmentStore = standardStore(acrossParents(employments))

/**
 * Works on the claimed rows in one transaction: contacts, companies, jobs, notes and the rows' own ends are kept
 * together or not at all. Rows that the claim has lost meanwhile are left alone. Resolves to how many came to an end.
 */
export async function workOn(database: Database, claim: Claim): Promise<number> {
  return database.transaction(importActor(claim.organizationId), async (transaction) => {
    const held = await holdRows(transaction, claim)
    const read = held.map(leadOf)
    const rows = read.flatMap((one) => ('lead' in one ? [one] : []))
    const invalid = read.flatMap((one) => ('status' in one ? [one] : []))
    if (rows.length === 0) {
      await endRows(transaction, invalid)
      return held.length
    }
    const [, known] = await Promise.all([lockKeys(transaction, rows), readKnown(transaction, rows)])
    const plan = reconcile(rows, known)
    await write(transaction, plan)
    await endRows(transaction, [...plan.outcomes, ...invalid])
    return held.length
  })
}

async function write(transaction: Transaction, plan: Plan): Promise<void> {
  // Companies first, contacts before what belongs to them: each refers to what is there already.
  const sets: [{ write(db: Transaction, changes: readonly Change[]): Promise<unknown> }, readonly Change[]][] = [
    [companyStore, plan.companies],
    [contactStore, plan.contacts],
    [employmentStore, plan.employments],
    [allNoteStore, plan.notes],
  ]
  for (const [store, changes] of sets) if (changes.length > 0) await store.write(transaction, changes)
}

/** Payloads were checked when they were pushed; one that fails now was taken by an older version. */
function leadOf({ id, payload, parameters, teamId, tags, mergePolicy }: ClaimedRow): LeadRow | Outcome {
  const read = readPush(payload, parameters)
  if ('lead' in read) return { id, lead: read.lead, teamId, tags, mergePolicy }
  const errors = read.faults.map(({ field, message }) => finding('invalid_payload', field, message))
  return { rowId: id, status: 'INVALID', contactId: null, companyId: null, warnings: [], errors, changes: [] }
}
