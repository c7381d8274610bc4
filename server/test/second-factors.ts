import { TOTP } from 'otpauth'
import { beginPendingLogin } from '../src/identity/access/login-store.ts'
import { storePendingEvents } from '../src/identity/audit-log/store.ts'
import { sql } from '../src/platform/model/sql.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import { logIn, newOwner, type TestOwner } from './people.ts'
import type { Json, TestResponse, TestService } from './service.ts'

/** The owner of a new organization, logged in. */
export interface Person extends Omit<TestOwner, 'userId'> {
  /** As a UUID, not as a public id. */
  userId: string
  /** Logs in with the password; returns the response, whether or not a second step is required. */
  logIn(): Promise<TestResponse<Json>>
  /** Completes the first step of a login with two steps; returns the token for the second step. */
  beginLogin(): Promise<string>
}

export async function newPerson(service: TestService): Promise<Person> {
  const owner = await newOwner(service)
  const logInWithPassword = () => logIn(service, owner.email, owner.password)
  return {
    ...owner,
    userId: decodeId('usr', owner.userId) ?? '',
    logIn: logInWithPassword,
    async beginLogin() {
      const { status, body } = await logInWithPassword()
      if (status !== 200 || body.status !== 'second_factor_required') throw new Error(JSON.stringify(body))
      return body.pendingToken
    },
  }
}

/** Completes the second step of a login with a code of the app. */
export const completeByTotp = (service: TestService, pendingToken: string, code: string): Promise<TestResponse<Json>> =>
  service.anonymous('POST', '/auth/login/totp', { body: { pendingToken, code } })

/** Completes the second step of a login with a recovery code. */
export const completeByRecoveryCode = (
  service: TestService,
  pendingToken: string,
  code: string,
): Promise<TestResponse<Json>> =>
  service.anonymous('POST', '/auth/login/recovery-code', { body: { pendingToken, code } })

/** An authenticator app that was set up with this `otpauth:` URI. */
export class AuthenticatorApp {
  readonly #totp: TOTP

  constructor(uri: string) {
    const url = new URL(uri)
    this.#totp = new TOTP({ secret: url.searchParams.get('secret') ?? '' })
  }

  /** The code that it shows the given number of 30-second steps from now. */
  code(steps = 0): string {
    return this.#totp.generate({ timestamp: Date.now() + steps * 30_000 })
  }

  /** Six digits that are not the code of any step within two steps from now. */
  wrongCode(): string {
    const right = [-2, -1, 0, 1, 2].map((steps) => this.code(steps))
    return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code)) ?? ''
  }
}

/**
 * Confirms the app with the code of the previous step, so that the current code stays unused. If a step ends meanwhile,
 * that code is too old, and the next one is tried.
 */
export async function confirmApp(
  { call }: Pick<Person, 'call'>,
  app: AuthenticatorApp,
): Promise<TestResponse<Json> & { code: string }> {
  const confirm = async () => {
    const code = app.code(-1)
    return { ...(await call('POST', '/v5/me/totp/confirm', { body: { code } })), code }
  }
  const first = await confirm()
  return first.status === 422 ? confirm() : first
}

/** Sets up an authenticator app; returns the code that it was confirmed with too. */
export async function enrolApp(
  person: Pick<Person, 'call'>,
): Promise<{ app: AuthenticatorApp; recoveryCodes: string[]; code: string }> {
  const started = await person.call('POST', '/v5/me/totp')
  if (started.status !== 200) throw new Error(started.text)
  const app = new AuthenticatorApp(started.body.uri)
  const confirmed = await confirmApp(person, app)
  if (confirmed.status !== 200) throw new Error(confirmed.text)
  return { app, recoveryCodes: confirmed.body.recoveryCodes, code: confirmed.code }
}

/** Completes the first step of many logins without hashing a password each time. */
export const beginLogins = (
  service: TestService,
  { userId }: Pick<Person, 'userId'>,
  count: number,
): Promise<string[]> =>
  service.database.crossTenantTransaction('log in', async (db) => {
    const tokens: string[] = []
    for (let index = 0; index < count; index++) {
      tokens.push(await beginPendingLogin(db, { userId, wantsCookie: false }))
    }
    return tokens
  })

/** The events of an action in the audit log of the person's organization. */
export async function eventsOf(service: TestService, { organization }: Person, action: string): Promise<Json[]> {
  const organizationId = decodeId('org', organization.organizationId) ?? ''
  await storePendingEvents(service.database, [organizationId])
  return service.database.crossTenantQuery(
    'check the database',
    sql`select actor_kind as kind, details from audit_events
      where organization_id = ${organizationId}::uuid and action = ${action}`,
  )
}

/** The account changes that the person was notified of by mail. */
export const mailsOf = async (service: TestService, { userId }: Pick<Person, 'userId'>): Promise<string[]> => {
  const rows = await service.database.crossTenantQuery<{ what: string }>(
    'check the database',
    sql`select facts->>'what' as what from mails
      where user_id = ${userId}::uuid and kind = 'account-changed' order by id`,
  )
  return rows.map(({ what }) => what)
}
