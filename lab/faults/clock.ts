import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { audit } from './audit.ts'
import type { Request } from './client.ts'
import type { Account } from '../shared/service.ts'
import { type ScenarioResult, Guarantees, rounded, type Run } from './scenario.ts'
import { startTestbed, recovery, type Testbed } from './stage.ts'
import { idOf, type Writers } from './writers.ts'

const hour = 3_600_000
/** The offsets of the clock, in order. */
const shifts = [-hour, 0, hour, 0]

/** Sets the service's clock an hour back and forward during mixed writes. The database's clock stays right. */
export async function clock(run: Run, { seconds }: { seconds: number }): Promise<ScenarioResult> {
  const guarantees = new Guarantees()
  const stage = await startTestbed(run, {
    environment: { FAULTS_CLOCK_SHIFTS: shifts.join(',') },
    nodeArguments: [`--import=${pathToFileURL(join(run.root, 'lab/faults/shifted-clock.mjs'))}`],
  })
  const { writers, client, account, service } = stage
  writers.start()
  await recovery(writers, performance.now())
  const stored = [await storeResponse(writers)]
  const offsets: number[] = []
  for (const [index] of shifts.entries()) {
    service.signal('SIGUSR2')
    await delay(seconds * 1000)
    stored.push(await storeResponse(writers))
    for (const { request, id } of stored) {
      const { status, body, headers } = await client.send(request)
      const isSame = (body as { id?: string } | undefined)?.id === id && headers.get('idempotent-replayed') === 'true'
      guarantees.check('a repeated Idempotency-Key returns the first response', isSame, { status, body })
    }
    await checkPages(stage, guarantees)
    const session = await refresh(stage)
    offsets.push(session.ahead)
    guarantees.checkNone(
      'access and refresh tokens are valid',
      session.refused.map((what) => `${what}, clock ${shifts[index]} ms ahead`),
    )
  }
  guarantees.check(
    'the clock of the service has the set offset',
    shifts.every((shift, index) => isNear(offsets[index], shift)),
    offsets,
  )
  await writers.stop()
  const audited = await audit({ client, writers, importId: account.importId, guarantees })
  const failures = [...writers.statuses].filter(([status]) => status < 200 || status >= 300)
  guarantees.checkNone('no request fails', [...failures, ...writers.unexpected])
  await service.stop()
  await stage.workspace.remove()
  const figures = {
    'clock set to, hours': shifts.map((shift) => shift / hour).join(', '),
    ...writers.counts,
    failed: failures.reduce((sum, [, count]) => sum + count, 0),
    ...audited,
    'slowest response, ms': rounded(writers.slowest),
  }
  return { figures, broken: guarantees.broken }
}

const isNear = (offset: number | undefined, shift: number): boolean => Math.abs((offset ?? Number.NaN) - shift) < 60_000

async function storeResponse(writers: Writers): Promise<{ request: Request; id: string | undefined }> {
  const { request, reply } = await writers.create({ name: 'Stored' })
  return { request, id: idOf(reply) }
}

/**
 * Refreshes, and tries the first access token and the new one. Also returns how far ahead the service's clock is.
 */
async function refresh({ service, account }: Testbed): Promise<{ refused: string[]; ahead: number }> {
  const profile = (token: string) =>
    fetch(`${service.url}/v5/me`, { headers: { authorization: `Bearer ${token}` } }).then(({ ok }) => ok)
  const response = await fetch(`${service.url}/auth`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: account.refreshToken }),
  })
  if (!response.ok) return { refused: ['refresh'], ahead: Number.NaN }
  const pair = (await response.json()) as Pick<Account, 'accessToken' | 'refreshToken'>
  account.refreshToken = pair.refreshToken
  const { iat } = JSON.parse(Buffer.from(pair.accessToken.split('.')[1] ?? '', 'base64url').toString()) as {
    iat: number
  }
  const ahead = iat * 1000 - Date.now()
  const refused = []
  // A token from the future is rejected, so the first one fails while the clock is behind.
  if (ahead > -60_000 && !(await profile(account.accessToken))) refused.push('the first access token')
  if (!(await profile(pair.accessToken))) refused.push('the new access token')
  return { refused, ahead }
}

/** Checks that every acknowledged contact is on exactly one page. */
async function checkPages({ client, writers }: Testbed, guarantees: Guarantees): Promise<void> {
  const acknowledged = writers.contacts.filter(({ exists, unknownChange }) => exists && !unknownChange)
  const emails = (await client.all<{ id: string; email: string | null }>('/v5/contacts', ['id', 'email'])).map(
    ({ email }) => email,
  )
  const found = new Set(emails)
  const missing = acknowledged.filter(({ isDeleting, email }) => !isDeleting && !found.has(email))
  guarantees.checkNone('pages contain every contact, whatever the clock showed at its creation', missing)
  const withEmail = emails.filter((email) => email !== null)
  guarantees.check('no contact is on two pages', new Set(withEmail).size === withEmail.length)
}
