import type pg from 'pg'
import type { HttpResponse } from './connection.ts'
import type { Draft } from './draft.ts'
import type { Account } from '../shared/service.ts'
import type { Random } from './random.ts'

/** The person whose own account requests are about. */
export interface Person {
  email: string
  password: string
  account: Account
  /** Takes back what a request did to the person's session and password: both are good again, and freshly proved. */
  restore(): Promise<void>
}

/** The owner of an organization, by what bootstrap made. */
export async function personOf(client: pg.Client, account: Account, password: string): Promise<Person> {
  const userId = uuidOf(account.userId)
  const { rows } = await client.query<{ email: string; hash: string }>(
    'select email, password_hash as hash from users where id = $1',
    [userId],
  )
  const [found] = rows
  if (!found) throw new Error('bootstrap makes a user')
  const restore = async () => {
    await client.query('update users set password_hash = $2 where id = $1 and password_hash <> $2', [
      userId,
      found.hash,
    ])
    await client.query(
      `update sessions set ended_at = null, proved_at = now(), expires_at = now() + interval '1 day' where id = $1`,
      [uuidOf(account.sessionId)],
    )
    await client.query('delete from login_failures')
    // What a person does is written down in each organization of theirs: they stay in the latest only.
    await client.query(
      `delete from members where user_id = $1 and organization_id <> $2 and created_at < now() - interval '5 seconds'`,
      [userId, uuidOf(account.organizationId)],
    )
  }
  let queue = Promise.resolve()
  // One after another: a connection has one statement under way.
  return { email: found.email, password, account, restore: () => (queue = queue.then(restore)) }
}

const uuidOf = (id: string): string => id.replace(/^\w+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Can the person's session or password be another one after this answer, or have stood in its way? */
export const mayAffectSession = (
  { operation: { isAccount, path, method } }: Draft,
  { status }: HttpResponse,
): boolean =>
  (isAccount || path.startsWith('/auth')) && ((method !== 'GET' && status < 300) || [401, 403, 429].includes(status))

/** What the person's requests can use: what answers told of them. */
export interface PersonState {
  refreshToken: string
  /** Ids. */
  sessions: string[]
  organizations: string[]
}

export const initialState = ({ refreshToken, sessionId, organizationId }: Account): PersonState => ({
  refreshToken,
  sessions: [sessionId],
  organizations: [organizationId],
})

/** Notes what the answer gave the person; the ones that came last are enough. */
export function updateState(state: PersonState, { operation }: Draft, { status, text }: HttpResponse): void {
  if (status >= 300 || !['refreshTokens', 'logIn', 'createOrganization'].includes(operation.name)) return
  const { refreshToken, sessionId, id } = JSON.parse(text || '{}') as Record<string, string | undefined>
  if (operation.name === 'refreshTokens' && refreshToken !== undefined) state.refreshToken = refreshToken
  if (operation.name === 'logIn' && sessionId !== undefined) remember(state.sessions, sessionId)
  if (operation.name === 'createOrganization' && id !== undefined) remember(state.organizations, id)
}

function remember(ids: string[], id: string): void {
  ids.push(id)
  // The first one is what bootstrap made.
  if (ids.length > 20) ids.splice(1, 1)
}

/** The ids of a path about the person's own. */
export const personParams = ({ sessions, organizations }: PersonState, random: Random): Record<string, string> => ({
  sessionId: random.pick(sessions),
  organizationId: random.pick(organizations),
  passkeyId: `psk_${'0'.repeat(32)}`,
  identityId: `sid_${'0'.repeat(32)}`,
})

/** Bodies that are right where drawn words never are; undefined for all other operations. */
export function validBody(name: string, { email, password }: Person, state: PersonState, random: Random): unknown {
  const bodies: Record<string, () => unknown> = {
    refreshTokens: () => ({ token: state.refreshToken }),
    logIn: () => ({ email, password }),
    logOut: () => ({ token: state.refreshToken }),
    provePassword: () => ({ password }),
    changePassword: () => ({ currentPassword: password, newPassword: `${password}, ${random.below(1000)}` }),
    forgotPassword: () => ({ email }),
    chooseOrganization: () => ({ organizationId: random.pick(state.organizations) }),
  }
  return bodies[name]?.()
}
