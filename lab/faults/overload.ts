import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { end } from '../shared/child.ts'
import { atEnd } from '../shared/cleanup.ts'
import { processOf } from '../shared/usage.ts'
import { numberMark, type OfferResult, type OfferTask } from './offer.ts'
import { freePort } from '../shared/free-port.ts'
import { makeFaultsPlace } from './place.ts'
import { type Account, bootstrap, startService } from '../shared/service.ts'
import { type Finding, Laws, quantile, rounded, type Run } from './scenario.ts'

/** Connections at which the peak is looked for. */
const concurrencies = [8, 16, 32, 64]
const overloadFactor = 4
const contacts = 2000
/** Turns that calm and overload take, so that a noisy neighbour meets both; the middle one counts. */
const rounds = 3
const mostConnections = 1000
/** What we promise. */
const leastShare = 0.9
const promptly = 20

/** More than the service can do is offered, for as long as it takes to see what becomes of it. */
export async function overload({ root, say }: Run): Promise<Finding> {
  const place = await makeFaultsPlace(root)
  const port = await freePort()
  const options = { port, dataFolder: join(place.folder, 'data') }
  const service = await startService(place, options)
  const account = await bootstrap(place, options, 'Faults')
  let firstNumber = 0
  const measure = async (task: Pick<OfferTask, 'rate' | 'connections' | 'seconds' | 'requests'>) => {
    const result = await offer({ ...task, port, firstNumber, warmUp: 2 })
    firstNumber += 1_000_000
    return result
  }
  const write = createRequest(port, account)
  await measure({ requests: [write], rate: 0, connections: 16, seconds: contacts / 1000 })
  const requests = await mixOf(port, account)
  let [found, best] = [0, 0]
  for (const connections of concurrencies) {
    const goodput = perSecond(await measure({ requests, rate: 0, connections, seconds: 3 }))
    say(`${connections} connections: ${rounded(goodput)} a second`)
    if (goodput > found) [found, best] = [goodput, connections]
  }
  const pairs: Pair[] = []
  for (let round = 1; round <= rounds; round++) {
    const calm = await measure({ requests, rate: 0, connections: best, seconds: 5 })
    const rate = perSecond(calm) * overloadFactor
    const over = await measure({ requests, rate, connections: mostConnections, seconds: 8 })
    pairs.push({ calm, over })
    say(`${rounded(perSecond(calm))} a second; of ${rounded(rate)} offered ${rounded(perSecond(over))}`)
  }
  const memory = processOf(service.pid).memory()
  const after = await measure({ requests, rate: 0, connections: best, seconds: 5 })
  await service.stop()
  await place.remove()
  return findingOf({ pairs, best, after, memory })
}

/** What the service does at its best, and what it does right after, when more is offered. */
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

function findingOf({ pairs, best, after, memory }: Measured): Finding {
  const laws = new Laws()
  const middleOf = (pick: (pair: Pair) => number) => quantile(pairs.map(pick), 0.5) ?? Number.NaN
  const peak = middleOf(({ calm }) => perSecond(calm))
  const share = middleOf(({ calm, over }) => perSecond(over) / perSecond(calm))
  const refusals = middleOf(({ over }) => over.refused.p99)
  laws.hold(`goodput stays at ${leastShare} of its peak`, share >= leastShare, share.toFixed(2))
  laws.hold(
    'what is too much is refused',
    pairs.every(({ over }) => over.refused.count > 0),
    pairs.map(({ over }) => over.refused.count),
  )
  laws.hold(`99 of 100 refusals come within ${promptly} ms`, refusals < promptly, refusals.toFixed(1))
  laws.hold('it is as fast afterwards', perSecond(after) >= peak * 0.75, `${rounded(perSecond(after))} a second`)
  const closed = [...pairs.flatMap(({ calm, over }) => [calm, over]), after].reduce((sum, one) => sum + one.closed, 0)
  laws.hold('no connection ends without an answer', closed === 0, closed)
  const statuses = pairs.flatMap(({ over }) => Object.keys(over.statuses))
  laws.none(
    'answers are good or say to come later',
    statuses.filter((status) => !['200', '201', '429', '503'].includes(status)),
  )
  const figures = {
    'peak, a second': rounded(peak),
    'connections at the peak': best,
    'offered, a second': rounded(middleOf(({ over }) => over.offered / over.seconds)),
    'good under overload, a second': rounded(middleOf(({ over }) => perSecond(over))),
    'of the peak': share.toFixed(2),
    'good answers, p50 and p99 ms': `${rounded(middleOf(({ over }) => over.good.p50))}, ${rounded(middleOf(({ over }) => over.good.p99))}`,
    'refused, a second': rounded(middleOf(({ over }) => over.refused.count / over.seconds)),
    'refusals, p50 and p99 ms': `${middleOf(({ over }) => over.refused.p50).toFixed(1)}, ${refusals.toFixed(1)}`,
    'connections that ended without an answer': closed,
    'not sent, no connection was free': pairs.reduce((sum, { over }) => sum + over.unsent, 0),
    'afterwards, a second': rounded(perSecond(after)),
    'memory afterwards, MB': rounded(memory === undefined ? undefined : memory / 1024 ** 2),
  }
  return { figures, broken: laws.broken }
}

const perSecond = ({ good, seconds }: OfferResult): number => good.count / seconds

/** In a process of its own, so that the sender is not what is measured. */
async function offer(task: OfferTask): Promise<OfferResult> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), 'offer'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const stop = atEnd(() => end(child))
  child.stdin.end(JSON.stringify(task))
  const [said] = await Promise.all([text(child.stdout), once(child, 'exit')])
  await stop()
  return JSON.parse(said) as OfferResult
}

const commonHead = (port: number, { apiKey, organizationId }: Account): string =>
  `host: 127.0.0.1:${port}\r\nauthorization: Bearer ${apiKey}\r\nservice-organization-id: ${organizationId}\r\n`

function createRequest(port: number, account: Account): string {
  const body = JSON.stringify({ email: `o${numberMark}@example.com`, firstName: 'Olga', lastName: `O${numberMark}` })
  const head = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`
  return `POST /v5/contacts HTTP/1.1\r\n${commonHead(port, account)}${head}\r\n${body}`
}

/** What callers do: they read, list and search more than they write. */
async function mixOf(port: number, account: Account): Promise<string[]> {
  const { apiKey, organizationId } = account
  const answer = await fetch(`http://127.0.0.1:${port}/v5/contacts?limit=100`, {
    headers: { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId },
  })
  const known = (await answer.json()) as { id: string; email: string }[]
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${commonHead(port, account)}\r\n`
  return known.flatMap(({ id, email }) => [
    get(`/v5/contacts/${id}`),
    get('/v5/contacts'),
    get(`/v5/contacts?filter.email.equals=${encodeURIComponent(email)}`),
    get(`/v5/contacts/${id}`),
    createRequest(port, account),
  ])
}
