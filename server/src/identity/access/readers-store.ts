import type { Transaction } from '../../platform/database/database.ts'
import type { Reader } from '../../platform/model/caller.ts'
import type { Language } from '../../platform/model/languages.ts'
import { covers, type MemberRole } from '../../platform/model/scopes.ts'
import { sql } from '../../platform/model/sql.ts'
import type { Resource } from '../../platform/records/declare/define.ts'
import { type CustomRole, customRoleSql, readReach } from './custom-role-store.ts'

/** A member, and what they see, for work on their behalf without a session of theirs. */
export interface MemberReader {
  userId: string
  email: string
  /** Null if they have not chosen one. */
  language: Language | null
  reader: Reader
  /** Does their role show the list of the resource? */
  sees: (resource: Pick<Resource, 'singular' | 'roleGroup'>) => boolean
}

/** Those of the people (uuids) who are members and can log in. They stay members until the transaction ends. */
export async function readMembers(transaction: Transaction, userIds: readonly string[]): Promise<MemberReader[]> {
  const { organization } = transaction
  const rows = await transaction.query<{
    userId: string
    email: string
    language: Language | null
    role: MemberRole
    customRole: CustomRole | null
  }>(sql`
    select members.user_id as "userId", users.email, users.language, members.role,
      ${customRoleSql(organization, sql`members.role_id`)} as "customRole"
    from members join users on users.id = members.user_id
    where members.organization_id = ${organization} and members.user_id = any(${userIds}::uuid[])
      and users.disabled_at is null
    for key share of members`)
  const readers: MemberReader[] = []
  for (const { userId, email, language, role, customRole } of rows) {
    const person = { organization, userId }
    const reach = customRole ? await readReach(transaction.query, person, customRole.reach) : undefined
    readers.push({
      userId,
      email,
      language,
      reader: { kind: 'session', userId, role, ...(reach && { reach }) },
      sees: ({ singular, roleGroup }) =>
        customRole
          ? covers(customRole.scopes, `${singular}:list:read`)
          : roleGroup !== 'administration' || role === 'owner' || role === 'admin',
    })
  }
  return readers
}
