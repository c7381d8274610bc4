import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { audit } from './audit.ts'
import type { Request } from './client.ts'
import type { Account } from '../shared/service.ts'
import { type Finding, Laws, rounded, type Run } from './scenario.ts'
import { openStage, recovery, type Stage } from './stage.ts'
import { idOf, type Writers } from './writers.ts'

const hour = 3_600_000
/** Where the clock is set in turn. */
const shifts = [-hour, 0, hour, 0]

/** The clock of the service is set an hour back and forth, under mixed writes; the database's is not. */
export async function clock(run: Run, { seconds }: { seconds: number }): Promise<Finding> {
  const laws = new Laws()
  const stage = await openStage(run, {
    environment: { FAULTS_CLOCK_SHIFTS: shifts.join(',') },
    nodeArguments: [`--import=${pathToFileURL(join(run.root, 'lab/faults/shifted-clock.mjs'))}`],
  })
  const { writers, client, account, service } = stage
  writers.start()
  await recovery(writers, performance.now())
  const kept = [await keepAnswer(writers)]
  const seen: number[] = []
  for (const [index] of shifts.entries()) {
    service.signal('SIGUSR2')
    await delay(seconds * 1000)
    kept.push(await keepAnswer(writers))
    for (const { request, id } of kept) {
      const { status, body, headers } = await client.send(request)
      const isSame = (body as { id?: string } | undefined)?.id === id && headers.get('idempotent-replayed') === 'true'
      laws.hold('an Idempotency-Key keeps its answer', isSame, { status, body })
    }
    await checkPages(stage, laws)
    const session = await refresh(stage)
    seen.push(session.ahead)
    laws.none(
      'access and refresh tokens are good',
      session.refused.map((what) => `${what}, clock ${shifts[index]} ms ahead`),
    )
  }
  laws.hold(
    'the clock of the service was set',
    shifts.every((shift, index) => isNear(seen[index], shift)),
    seen,
  )
  await writers.stop()
  const audited = await audit({ client, writers, importId: account.importId, laws })
  const failures = [...writers.statuses].filter(([status]) => status < 200 || status >= 300)
  laws.none('no request fails', [...failures, ...writers.strange])
  await service.stop()
  await stage.place.remove()
  const figures = {
    'clock set to, hours': shifts.map((shift) => shift / hour).join(', '),
    ...writers.counts,
    failed: failures.reduce((sum, [, count]) => sum + count, 0),
    ...audited,
    'slowest answer, ms': rounded(writers.slowest),
  }
  return { figures, broken: laws.broken }
}

const isNear = (seen: number | undefined, shift: number): boolean => Math.abs((seen ?? Number.NaN) - shift) < 60_000

async function keepAnswer(writers: Writers): Promise<{ request: Request; id: string | undefined }> {
  const { request, reply } = await writers.create({ name: 'Kept' })
  return { request, id: idOf(reply) }
}

/** Refreshes, and uses the access token that was issued first and the new one; tells how far ahead its clock is, too. */
async function refresh({ service, account }: Stage): Promise<{ refused: string[]; ahead: number }> {
  const profile = (token: string) =>
    fetch(`${service.url}/v5/me`, { headers: { authorization: `Bearer ${token}` } }).then(({ ok }) => ok)
  const answer = await fetch(`${service.url}/auth`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: account.refreshToken }),
  })
  if (!answer.ok) return { refused: ['refresh'], ahead: Number.NaN }
  const pair = (await answer.json()) as Pick<Account, 'accessToken' | 'refreshToken'>
  account.refreshToken = pair.refreshToken
  const { iat } = JSON.parse(Buffer.from(pair.accessToken.split('.')[1] ?? '', 'base64url').toString()) as {
    iat: number
  }
  const ahead = iat * 1000 - Date.now()
  const refused = []
  // While the clock is before the moment of its issue it counts as made up.
  if (ahead > -60_000 && !(await profile(account.accessToken))) refused.push('the first access token')
  if (!(await profile(pair.accessToken))) refused.push('the new access token')
  return { refused, ahead }
}

/** Every contact that was acknowledged before is on exactly one page. */
async function checkPages({ client, writers }: Stage, laws: Laws): Promise<void> {
  const known = writers.contacts.filter(({ isThere, open }) => isThere && !open)
  const emails = (await client.all<{ id: string; email: string | null }>('/v5/contacts', ['id', 'email'])).map(
    ({ email }) => email,
  )
  const found = new Set(emails)
  const gone = known.filter(({ isLeaving, email }) => !isLeaving && !found.has(email))
  laws.none('pages hold every contact, whatever the clock said at its creation', gone)
  const named = emails.filter((email) => email !== null)
  laws.hold('no contact is on two pages', new Set(named).size === named.length)
}
