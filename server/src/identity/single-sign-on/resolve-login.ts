import { findAccount, lockAccount } from '../access/account-store.ts'
import { userActor } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { CrossTenantConnection } from '../../platform/database/database.ts'
import { violatesConstraint } from '../../platform/database/failures.ts'
import type { PublicRequest } from '../../platform/http/route.ts'
import { newId, encodeId } from '../../platform/model/ids.ts'
import { emailKey } from '../../platform/model/normalizers.ts'
import { addMember } from '../members/store.ts'
import { insertUser } from '../users/store.ts'
import type { JoinRole } from './connection.ts'
import type { StoredConnection } from './flow-store.ts'
import {
  isFormerMember,
  isVerifiedDomain,
  linkIdentity,
  type MembershipStatus,
  findMembershipStatus,
  recordIdentityUse,
} from './identity-store.ts'
import type { Claims } from './provider.ts'

/** Why a person authenticated by the provider is rejected; see docs/decisions/0014-single-sign-on.md. */
export type RefusalReason = 'not-linked' | 'not-verified' | 'not-a-member' | 'second-factor-needed'

/** A concurrent request has just created the same account or identity: try again. */
export class LoginConflict extends Error {}

/** The person who logs in (uuid), or the reason for the rejection. */
export type LoginDecision = { userId: string } | { refusal: RefusalReason }

type ClientContext = Pick<PublicRequest, 'services' | 'client'>

/**
 * Resolves the login to a person. Issuer and subject identify a person; the address counts only if the organization has
 * verified its domain, and only for an account that is in no other organization.
 */
export async function resolveLogin(
  context: ClientContext,
  db: CrossTenantConnection,
  { connection, claims }: { connection: StoredConnection; claims: Claims },
): Promise<LoginDecision> {
  const { organizationId } = connection
  const { issuer, subject } = claims
  const linkedUserId = await recordIdentityUse(db, { organizationId, issuer, subject })
  if (linkedUserId !== undefined) return resolveLinked(db, linkedUserId, organizationId)
  const candidate = await findJoinCandidate(db, connection, claims)
  if (!candidate) return { refusal: 'not-linked' }
  const key = emailKey(candidate.email)
  const account = await findAccount(db, key)
  const status = account && (await lockMembershipStatus(db, account.id, organizationId))
  if (!status?.isMember && (await isFormerMember(db, { organizationId, issuer, subject, key }))) {
    return { refusal: 'not-a-member' }
  }
  if (status && !status.isElsewhere && !status.isVerified) {
    // Another request may have created this account and linked it since the identity was looked up.
    const linked = await recordIdentityUse(db, { organizationId, issuer, subject })
    return linked === undefined ? { refusal: 'not-verified' } : resolveLinked(db, linked, organizationId)
  }
  const userId = status ? joinableUserId(status) : await createPerson(context, db, candidate)
  if (userId === undefined) return { refusal: 'not-linked' }
  const { email } = candidate
  const identity = await linkIdentity(db, {
    organizationId,
    connectionId: connection.id,
    userId,
    issuer,
    subject,
    email,
  })
  if (identity === undefined) throw new LoginConflict()
  if (await addMember(db, { organizationId, userId, role: candidate.role })) {
    await recordJoin(context, db, { organizationId, userId, role: candidate.role })
  }
  return { userId }
}

/** Must still be a member. A member of another organization needs a second factor: it need not trust this provider. */
async function resolveLinked(
  db: CrossTenantConnection,
  userId: string,
  organizationId: string,
): Promise<LoginDecision> {
  const account = await lockAccount(db, userId)
  const { isMember, isElsewhere } = await findMembershipStatus(db, userId, organizationId)
  if (!account || !isMember) return { refusal: 'not-a-member' }
  if (isElsewhere && account.factors.length === 0) return { refusal: 'second-factor-needed' }
  return { userId }
}

interface JoinCandidate {
  email: string
  name: string
  role: JoinRole
}

/**
 * Who can join without an invitation: a person with an address that the provider has verified, in a verified domain.
 */
async function findJoinCandidate(
  db: CrossTenantConnection,
  { organizationId, defaultRole }: StoredConnection,
  { email, isEmailVerified, name }: Claims,
): Promise<JoinCandidate | undefined> {
  if (defaultRole === null || email === null || !isEmailVerified) return undefined
  const key = emailKey(email)
  const domain = key.slice(key.lastIndexOf('@') + 1)
  if (!(await isVerifiedDomain(db, organizationId, domain))) return undefined
  const characters = Array.from(name ?? key.slice(0, key.lastIndexOf('@')))
  return { email, name: characters.slice(0, 100).join(''), role: defaultRole }
}

async function lockMembershipStatus(db: CrossTenantConnection, userId: string, organizationId: string) {
  await lockAccount(db, userId)
  return { userId, ...(await findMembershipStatus(db, userId, organizationId)) }
}

/** The existing account, unless it also belongs to another organization. */
const joinableUserId = ({ userId, isElsewhere }: MembershipStatus & { userId: string }): string | undefined =>
  isElsewhere ? undefined : userId

/**
 * Creates an account without a password. The address stays unverified, whatever the provider says: the domain may have
 * a new owner when a second organization verifies it, and their people must not get this account.
 */
async function createPerson(
  { services }: ClientContext,
  db: CrossTenantConnection,
  { email, name }: JoinCandidate,
): Promise<string | undefined> {
  if (services.signUp === 'closed') return undefined
  const userId = newId()
  await insertUser(db, { id: userId, email, name, passwordHash: null }).catch((error: unknown) => {
    throw violatesConstraint(error, 'users_email_unique') ? new LoginConflict() : error
  })
  return userId
}

const recordJoin = (
  { client }: ClientContext,
  db: CrossTenantConnection,
  { organizationId, userId, role }: { organizationId: string; userId: string; role: JoinRole },
): Promise<void> =>
  recordEvent(db, {
    organizationId,
    action: 'member.added',
    ...userActor(userId, client),
    recordType: 'member',
    recordId: encodeId('usr', userId),
    details: { by: 'single-sign-on', role },
  })
