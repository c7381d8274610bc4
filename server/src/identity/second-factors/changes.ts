import { lockAccount, recordReauthentication, setFactors } from '../access/account-store.ts'
import { ownAccountEvent } from '../../platform/audit/actor.ts'
import type { NamedAction } from '../../platform/audit/store.ts'
import { recordPersonEvent } from '../audit-log/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import type { Person } from '../access/account-route.ts'
import type { Client } from '../../platform/http/route.ts'
import { type AccountChange, queueMail } from '../mails/store.ts'
import { hashRecoveryCode, generateRecoveryCodes } from './recovery-codes.ts'
import {
  countRecoveryCodes,
  type FactorKind,
  findFactorKinds,
  clearSecondFactorProofs,
  replaceRecoveryCodes,
} from './store.ts'

/** A change to what the person proves themself with. */
export interface FactorChange {
  action: Extract<NamedAction, 'factor.added' | 'factor.removed' | 'recovery-codes.created'>
  factor: FactorKind
  what: AccountChange
}

/**
 * What follows from a change: the kinds that the person has are kept true, the last factor takes the recovery codes and
 * what was proved with it along, the person gets a mail, their organizations a line in the log.
 */
export async function afterChange(
  db: CrossTenantConnection,
  { person, client, change }: { person: Person; client: Client; change: FactorChange },
): Promise<void> {
  const { userId, sessionId } = person
  const kinds = await findFactorKinds(db, userId)
  const isLast = kinds.every((kind) => kind === 'recovery-code')
  if (isLast) {
    await replaceRecoveryCodes(db, userId, [])
    await clearSecondFactorProofs(db, userId)
  }
  await setFactors(db, userId, isLast ? [] : kinds)
  if (change.action === 'factor.added') await recordReauthentication(db, sessionId, true)
  const account = await lockAccount(db, userId)
  if (!account) return
  await queueMail(db, { kind: 'account-changed', recipient: account.email, userId, facts: { what: change.what } })
  await recordPersonEvent(db, userId, {
    action: change.action,
    ...ownAccountEvent(userId, client),
    details: { factor: change.factor },
  })
}

/** Ten new recovery codes in place of those that were left. */
export async function newRecoveryCodes(db: CrossTenantConnection, userId: string): Promise<string[]> {
  const codes = generateRecoveryCodes()
  await replaceRecoveryCodes(db, userId, codes.map(hashRecoveryCode))
  return codes
}

/** The codes that a person's first factor comes with; null when they have some. */
export const firstRecoveryCodes = async (db: CrossTenantConnection, userId: string): Promise<string[] | null> =>
  (await countRecoveryCodes(db, userId)) > 0 ? null : newRecoveryCodes(db, userId)
