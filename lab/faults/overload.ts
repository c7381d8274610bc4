import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { terminate } from '../shared/child.ts'
import { addCleanup } from '../shared/cleanup.ts'
import { processOf } from '../shared/usage.ts'
import { numberPlaceholder, type OfferResult, type OfferTask } from './offer.ts'
import { freePort } from '../shared/free-port.ts'
import { createFaultsWorkspace } from './workspace.ts'
import { type Account, bootstrap, startService } from '../shared/service.ts'
import { type ScenarioResult, Guarantees, rounded, type Run } from './scenario.ts'
import { quantile } from '../shared/quantile.ts'

/** Numbers of connections to try when searching for the peak. */
const concurrencies = [8, 16, 32, 64]
const overloadFactor = 4
const contacts = 2000
/** Normal load and overload take turns, so that a noisy neighbour affects both; medians count. */
const rounds = 3
const maxConnections = 1000
/** Our targets. */
const minShare = 0.9
const maxRejectionMilliseconds = 20

/** Sends four times the requests that the service can serve. */
export async function overload({ root, log }: Run): Promise<ScenarioResult> {
  const workspace = await createFaultsWorkspace(root)
  const port = await freePort()
  const options = { port, dataFolder: join(workspace.folder, 'data') }
  const service = await startService(workspace, options)
  const account = await bootstrap(workspace, options, 'Faults')
  let firstNumber = 0
  const measure = async (task: Pick<OfferTask, 'rate' | 'connections' | 'seconds' | 'requests'>) => {
    const result = await offer({ ...task, port, firstNumber, warmUp: 2 })
    firstNumber += 1_000_000
    return result
  }
  const write = createRequest(port, account)
  await measure({ requests: [write], rate: 0, connections: 16, seconds: contacts / 1000 })
  const requests = await requestMix(port, account)
  let [found, best] = [0, 0]
  for (const connections of concurrencies) {
    const goodput = perSecond(await measure({ requests, rate: 0, connections, seconds: 3 }))
    log(`${connections} connections: ${rounded(goodput)} per second`)
    if (goodput > found) [found, best] = [goodput, connections]
  }
  const pairs: Pair[] = []
  for (let round = 1; round <= rounds; round++) {
    const calm = await measure({ requests, rate: 0, connections: best, seconds: 5 })
    const rate = perSecond(calm) * overloadFactor
    const over = await measure({ requests, rate, connections: maxConnections, seconds: 8 })
    pairs.push({ calm, over })
    log(`${rounded(perSecond(calm))} per second; ${rounded(perSecond(over))} when ${rounded(rate)} are offered`)
  }
  const memory = processOf(service.pid).memory()
  const after = await measure({ requests, rate: 0, connections: best, seconds: 5 })
  await service.stop()
  await workspace.remove()
  return findingOf({ pairs, best, after, memory })
}

/** The peak load and the overload right after it. */
interface Pair {
  calm: OfferResult
  over: OfferResult
}

interface Measured {
  pairs: readonly Pair[]
  best: number
  after: OfferResult
  memory: number | undefined
}

function findingOf({ pairs, best, after, memory }: Measured): ScenarioResult {
  const guarantees = new Guarantees()
  const medianOf = (pick: (pair: Pair) => number) => quantile(pairs.map(pick), 0.5) ?? Number.NaN
  const peak = medianOf(({ calm }) => perSecond(calm))
  const share = medianOf(({ calm, over }) => perSecond(over) / perSecond(calm))
  const refusals = medianOf(({ over }) => over.refused.p99)
  guarantees.check(`goodput stays at or above ${minShare} of its peak`, share >= minShare, share.toFixed(2))
  guarantees.check(
    'excess requests are rejected',
    pairs.every(({ over }) => over.refused.count > 0),
    pairs.map(({ over }) => over.refused.count),
  )
  guarantees.check(
    `99 of 100 rejections take less than ${maxRejectionMilliseconds} ms`,
    refusals < maxRejectionMilliseconds,
    refusals.toFixed(1),
  )
  guarantees.check(
    'goodput recovers afterwards',
    perSecond(after) >= peak * 0.75,
    `${rounded(perSecond(after))} per second`,
  )
  const closed = [...pairs.flatMap(({ calm, over }) => [calm, over]), after].reduce((sum, one) => sum + one.closed, 0)
  guarantees.check('no connection is closed without a response', closed === 0, closed)
  const statuses = pairs.flatMap(({ over }) => Object.keys(over.statuses))
  guarantees.checkNone(
    'responses are successful or ask to retry later',
    statuses.filter((status) => !['200', '201', '429', '503'].includes(status)),
  )
  const figures = {
    'peak per second': rounded(peak),
    'connections at the peak': best,
    'offered per second': rounded(medianOf(({ over }) => over.offered / over.seconds)),
    'good under overload per second': rounded(medianOf(({ over }) => perSecond(over))),
    'share of the peak': share.toFixed(2),
    'good responses, p50 and p99 ms': `${rounded(medianOf(({ over }) => over.good.p50))}, ${rounded(medianOf(({ over }) => over.good.p99))}`,
    'rejected per second': rounded(medianOf(({ over }) => over.refused.count / over.seconds)),
    'rejections, p50 and p99 ms': `${medianOf(({ over }) => over.refused.p50).toFixed(1)}, ${refusals.toFixed(1)}`,
    'without a response': closed,
    'not sent because no connection was free': pairs.reduce((sum, { over }) => sum + over.unsent, 0),
    'afterwards, per second': rounded(perSecond(after)),
    'memory afterwards, MB': rounded(memory === undefined ? undefined : memory / 1024 ** 2),
  }
  return { figures, broken: guarantees.broken }
}

const perSecond = ({ good, seconds }: OfferResult): number => good.count / seconds

/** Runs in a separate process, so that the sender does not affect the measurement. */
async function offer(task: OfferTask): Promise<OfferResult> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'offer'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const stop = addCleanup(() => terminate(child))
  child.stdin.end(JSON.stringify(task))
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  await stop()
  return JSON.parse(output) as OfferResult
}

const commonHead = (port: number, { apiKey, organizationId }: Account): string =>
  `host: 127.0.0.1:${port}\r\nauthorization: Bearer ${apiKey}\r\nservice-organization-id: ${organizationId}\r\n`

function createRequest(port: number, account: Account): string {
  const body = JSON.stringify({
    email: `o${numberPlaceholder}@example.com`,
    firstName: 'Olga',
    lastName: `O${numberPlaceholder}`,
  })
  const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
  return `POST /v5/contacts HTTP/1.1\r\n${commonHead(port, account)}${head}\r\n${body}`
}

/** A typical mix: more reads, lists and searches than writes. */
async function requestMix(port: number, account: Account): Promise<string[]> {
  const { apiKey, organizationId } = account
  const response = await fetch(`http://127.0.0.1:${port}/v5/contacts?limit=100`, {
    headers: { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId },
  })
  const existing = (await response.json()) as { id: string; email: string }[]
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${commonHead(port, account)}\r\n`
  return existing.flatMap(({ id, email }) => [
    get(`/v5/contacts/${id}`),
    get('/v5/contacts'),
    get(`/v5/contacts?filter.email.equals=${encodeURIComponent(email)}`),
    get(`/v5/contacts/${id}`),
    createRequest(port, account),
  ])
}
