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

/** A change of the person's second factors. */
export interface FactorChange {
  action: Extract<NamedAction, 'factor.added' | 'factor.removed' | 'recovery-codes.created'>
  factor: FactorKind
  what: AccountChange
}

/**
 * Completes a change: updates the person's kinds of factors, queues a mail to them and writes the audit event. Removing
 * the last factor also deletes the recovery codes and clears the second factor of all sessions.
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

/** Replaces the recovery codes with ten new ones. */
export async function newRecoveryCodes(db: CrossTenantConnection, userId: string): Promise<string[]> {
  const codes = generateRecoveryCodes()
  await replaceRecoveryCodes(db, userId, codes.map(hashRecoveryCode))
  return codes
}

/** New recovery codes with the first factor; null if the person already has some. */
export const firstRecoveryCodes = async (db: CrossTenantConnection, userId: string): Promise<string[] | null> =>
  (await countRecoveryCodes(db, userId)) > 0 ? null : newRecoveryCodes(db, userId)
