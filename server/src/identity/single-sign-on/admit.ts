import { findAccount, lockAccount } from '../access/account-store.ts'
import { byPerson } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { Spanning } from '../../platform/database/database.ts'
import { violates } from '../../platform/database/failures.ts'
import type { PublicRequest } from '../../platform/http/route.ts'
import { newId, showId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/texts.ts'
import { addMember } from '../members/store.ts'
import { insertUser } from '../users/store.ts'
import type { JoinRole } from './connection.ts'
import type { KeptConnection } from './flow-store.ts'
import { isFormerMember, isProved, linkIdentity, type Standing, standingOf, useIdentity } from './identity-store.ts'
import type { Claims } from './provider.ts'

/** Why a person whom the provider knows does not get in; docs/decisions/0014-single-sign-on.md says why. */
export type Refusal = 'not-linked' | 'not-verified' | 'not-a-member' | 'second-factor-needed'

/** Another request has just made what this one was about to make: what it does now depends on that. */
export class Raced extends Error {}

/** Who logs in, by uuid, or why nobody does. */
export type Verdict = { userId: string } | { refusal: Refusal }

type Asking = Pick<PublicRequest, 'services' | 'client'>

/**
 * Decides whose login it is. Issuer and subject say who somebody is; the address counts only where the organization has
 * proved that its domain is its own, and then only for an account that is in no other organization.
 */
export async function admit(
  asking: Asking,
  db: Spanning,
  { connection, claims }: { connection: KeptConnection; claims: Claims },
): Promise<Verdict> {
  const { organizationId } = connection
  const { issuer, subject } = claims
  const known = await useIdentity(db, { organizationId, issuer, subject })
  if (known !== undefined) return admitKnown(db, known, organizationId)
  const joining = await joiningOf(db, connection, claims)
  if (!joining) return { refusal: 'not-linked' }
  const key = emailKey(joining.email)
  const account = await findAccount(db, key)
  const standing = account && (await lockedStanding(db, account.id, organizationId))
  if (!standing?.isMember && (await isFormerMember(db, { organizationId, issuer, subject, key }))) {
    return { refusal: 'not-a-member' }
  }
  if (standing && !standing.isElsewhere && !standing.isVerified) {
    // Another request may have created this account and linked it since the identity was looked up.
    const linked = await useIdentity(db, { organizationId, issuer, subject })
    return linked === undefined ? { refusal: 'not-verified' } : admitKnown(db, linked, organizationId)
  }
  const userId = standing ? joined(standing) : await newPerson(asking, db, joining)
  if (userId === undefined) return { refusal: 'not-linked' }
  const { email } = joining
  const identity = await linkIdentity(db, {
    organizationId,
    connectionId: connection.id,
    userId,
    issuer,
    subject,
    email,
  })
  if (identity === undefined) throw new Raced()
  if (await addMember(db, { organizationId, userId, role: joining.role })) {
    await tellJoined(asking, db, { organizationId, userId, role: joining.role })
  }
  return { userId }
}

/** A member still, and one that no other organization has to trust this one's provider for. */
async function admitKnown(db: Spanning, userId: string, organizationId: string): Promise<Verdict> {
  const account = await lockAccount(db, userId)
  const { isMember, isElsewhere } = await standingOf(db, userId, organizationId)
  if (!account || !isMember) return { refusal: 'not-a-member' }
  if (isElsewhere && account.factors.length === 0) return { refusal: 'second-factor-needed' }
  return { userId }
}

interface Joining {
  email: string
  name: string
  role: JoinRole
}

/** Who may join by themself: whoever has an address that the provider vouches for, of a domain that was proved. */
async function joiningOf(
  db: Spanning,
  { organizationId, defaultRole }: KeptConnection,
  { email, isEmailVerified, name }: Claims,
): Promise<Joining | undefined> {
  if (defaultRole === null || email === null || !isEmailVerified) return undefined
  const key = emailKey(email)
  const domain = key.slice(key.lastIndexOf('@') + 1)
  if (!(await isProved(db, organizationId, domain))) return undefined
  const shown = Array.from(name ?? key.slice(0, key.lastIndexOf('@')))
  return { email, name: shown.slice(0, 100).join(''), role: defaultRole }
}

async function lockedStanding(db: Spanning, userId: string, organizationId: string) {
  await lockAccount(db, userId)
  return { userId, ...(await standingOf(db, userId, organizationId)) }
}

/** The account of the address, if nobody else has a say in it. */
const joined = ({ userId, isElsewhere }: Standing & { userId: string }): string | undefined =>
  isElsewhere ? undefined : userId

/**
 * A new account without a password. The provider's word verifies no address: a domain may have another owner by the time
 * that a second organization proves it, and then its people must not be joined to this account.
 */
async function newPerson({ services }: Asking, db: Spanning, { email, name }: Joining): Promise<string | undefined> {
  if (services.signUp === 'closed') return undefined
  const userId = newId()
  await insertUser(db, { id: userId, email, name, passwordHash: null }).catch((error: unknown) => {
    throw violates(error, 'users_email_unique') ? new Raced() : error
  })
  return userId
}

const tellJoined = (
  { client }: Asking,
  db: Spanning,
  { organizationId, userId, role }: { organizationId: string; userId: string; role: JoinRole },
): Promise<void> =>
  recordEvent(db, {
    organizationId,
    action: 'member.added',
    ...byPerson(userId, client),
    recordType: 'member',
    recordId: showId('usr', userId),
    details: { by: 'single-sign-on', role },
  })
