import type pg from 'pg'
import type { HttpResponse } from './connection.ts'
import type { Draft } from './draft.ts'
import type { Account } from '../shared/service.ts'
import type { Random } from './random.ts'

/** The person to whose own account requests apply. */
export interface Person {
  email: string
  password: string
  account: Account
  /** Restores the person's session and password after a request, and marks the session as recently authenticated. */
  restore(): Promise<void>
}

/** The owner of an organization, from the output of bootstrap. */
export async function personOf(client: pg.Client, account: Account, password: string): Promise<Person> {
  const userId = uuidOf(account.userId)
  const { rows } = await client.query<{ email: string; hash: string }>(
    'select email, password_hash as hash from users where id = $1',
    [userId],
  )
  const [found] = rows
  if (!found) throw new Error('bootstrap must have created the user')
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
    // A person's actions are logged in each of their organizations, so they stay a member only of the latest.
    await client.query(
      `delete from members where user_id = $1 and organization_id <> $2 and created_at < now() - interval '5 seconds'`,
      [userId, uuidOf(account.organizationId)],
    )
  }
  let queue = Promise.resolve()
  // One after another, because a connection runs one statement at a time.
  return { email: found.email, password, account, restore: () => (queue = queue.then(restore)) }
}

const uuidOf = (id: string): string => id.replace(/^\w+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Whether the request may have changed the person's session or password, or failed because of them. */
export const mayAffectSession = (
  { operation: { isAccount, path, method } }: Draft,
  { status }: HttpResponse,
): boolean =>
  (isAccount || path.startsWith('/auth')) && ((method !== 'GET' && status < 300) || [401, 403, 429].includes(status))

/** Values from responses that the person's requests can use. */
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

/** Stores values from the response; the latest ones suffice. */
export function updateState(state: PersonState, { operation }: Draft, { status, text }: HttpResponse): void {
  if (status >= 300 || !['refreshTokens', 'logIn', 'createOrganization'].includes(operation.name)) return
  const { refreshToken, sessionId, id } = JSON.parse(text || '{}') as Record<string, string | undefined>
  if (operation.name === 'refreshTokens' && refreshToken !== undefined) state.refreshToken = refreshToken
  if (operation.name === 'logIn' && sessionId !== undefined) remember(state.sessions, sessionId)
  if (operation.name === 'createOrganization' && id !== undefined) remember(state.organizations, id)
}

function remember(ids: string[], id: string): void {
  ids.push(id)
  // The first one is from bootstrap.
  if (ids.length > 20) ids.splice(1, 1)
}

/** Path parameters for the person's own records. */
export const personParams = ({ sessions, organizations }: PersonState, random: Random): Record<string, string> => ({
  sessionId: random.pick(sessions),
  organizationId: random.pick(organizations),
  passkeyId: `psk_${'0'.repeat(32)}`,
  identityId: `sid_${'0'.repeat(32)}`,
})

/** Valid bodies for operations that random values never satisfy; undefined for all others. */
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
