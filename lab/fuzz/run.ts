import { Connection } from './connection.ts'
import type { Contract } from './document.ts'
import type { Draft } from './draft.ts'
import { drawRequest, isTheirs, type World } from './drawing.ts'
import type { Account } from '../shared/service.ts'
import { type Place, populate, type Population } from './fixture.ts'
import { Laws } from './laws.ts'
import { belongingsOf, noteBelongings, type Person, spoils } from './person.ts'
import { mark } from './stage.ts'
import { attempt, commandOf, minimize, type Violation } from './violations.ts'
import type { Answer } from './connection.ts'

export interface WorldOptions {
  contract: Contract
  port: number
  ours: Account
  theirs: Account
  person: Person
  narrowKey: string
  expiredKey: string
  seed: number
}

/** Fills the organizations and gives what requests are drawn from. */
export async function makeWorld({ contract, port, ours, theirs, ...others }: WorldOptions): Promise<World> {
  const common = { contract, port, seed: others.seed }
  const words = [
    'Ada',
    'Émile',
    'Łukasz',
    'Ødegård',
    '東京',
    'مريم',
    'Straße',
    'acme',
    'lead',
    'x,y',
    '😀',
    "O'Neill",
    '50%',
  ]
  return {
    ...others,
    operations: contract.operations,
    ours: await populate({ ...common, account: ours, words, domain: 'ours.example.com', records: 24 }),
    theirs: withAccount(
      await populate({
        ...common,
        account: theirs,
        // What is theirs says so in each word; requests may hold their addresses and ids.
        words: [`${mark} Ada`, `${mark} Straße`],
        domain: 'theirs.example.com',
        records: 6,
      }),
    ),
    learned: { tags: new Map(), own: belongingsOf(others.person.account) },
  }
}

/** With what only the owner's own session may name. */
function withAccount({ places, ...population }: Population): Population {
  const { sessionId, organizationId } = population.account
  const own = Object.entries({ sessionId, organizationId })
  const more = own.map(([name, id]): Place => ({ own: name, params: { [name]: id }, use: 'kept' }))
  return { ...population, places: [...places, ...more] }
}

export interface RunOptions {
  world: World
  contract: Contract
  /** Ids of the other organization, as 32 hexadecimal digits. */
  foreignIds: ReadonlySet<string>
  port: number
  requests: number
  first: number
  connections: number
  /** Told now and then how many requests have been sent. */
  progress: (sent: number) => void
  /** Told of the first violation of a law by an operation as soon as it is found. */
  found: (violation: Violation) => void
}

/** What a run came to. */
export interface Result {
  seconds: number
  /** Answers by status. */
  statuses: Record<number, number>
  operations: Record<string, OperationResult>
  violations: Violation[]
}

export interface OperationResult {
  requests: number
  /** Answers below 300 and 304. */
  successes: number
  statuses: number[]
  /** Milliseconds of the slowest answer, and of all together. */
  slowest: number
  total: number
}

/** More than this many kinds of violations say nothing new. */
const mostViolations = 50

/** Sends the requests, some at a time, and holds each answer against the laws. */
export async function run(options: RunOptions): Promise<Result> {
  const { port, requests, first, connections, world, contract, foreignIds } = options
  // With this many at a time the service has to take them all.
  const laws = new Laws(contract, { ids: foreignIds, mark }, connections > 16)
  const host = `127.0.0.1:${port}`
  const result: Result = { seconds: 0, statuses: {}, operations: {}, violations: [] }
  for (const { name } of contract.operations) result.operations[name] = newResult()
  const began = performance.now()
  let [next, sent] = [0, 0]
  const work = async () => {
    const connection = new Connection(port)
    while (next < requests) {
      const draft = drawRequest(world, first + next++)
      const { answer, faults } = await attempt(connection, laws, draft, host)
      if (answer && spoils(draft, answer)) await world.person.renew()
      note(result, draft, answer)
      if (answer) learn(world, draft, answer)
      for (const fault of faults) await report(result, draft, fault, { world, laws, port, host, found: options.found })
      if (++sent % 500 === 0) options.progress(sent)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, work))
  result.seconds = (performance.now() - began) / 1000
  return result
}

const newResult = (): OperationResult => ({ requests: 0, successes: 0, statuses: [], slowest: 0, total: 0 })

function note({ statuses, operations }: Result, { operation, changes }: Draft, answer: Answer | undefined): void {
  const status = answer?.status ?? 0
  statuses[status] = (statuses[status] ?? 0) + 1
  const own = operations[operation.name]
  // Another path, or another method, is another operation's, or none's.
  if (!own || !answer || changes.some((change) => /^(?:path|method)/.test(change))) return
  own.requests++
  if (status < 300 || status === 304) own.successes++
  if (!own.statuses.includes(status)) own.statuses.push(status)
  own.slowest = Math.max(own.slowest, answer.milliseconds)
  own.total += answer.milliseconds
}

/** What later requests can use: they would hardly guess it. */
function learn({ learned }: World, draft: Draft, answer: Answer): void {
  const tag = answer.headers.get('etag')
  if (tag !== undefined && learned.tags.size < 10_000) learned.tags.set(draft.path, tag)
  noteBelongings(learned.own, draft, answer)
}

interface Where {
  world: World
  laws: Laws
  port: number
  host: string
  found: RunOptions['found']
}

/** Of those that break the same law in the same operation the first is made small and told, the others are counted. */
async function report(
  { violations }: Result,
  draft: Draft,
  { law, what }: { law: string; what: string },
  place: Where,
): Promise<void> {
  const operation = `${draft.operation.method} ${draft.operation.path}`
  const known = violations.find((other) => other.law === law && other.operation === operation)
  if (known || violations.length >= mostViolations) {
    if (known) known.times++
    return
  }
  const violation: Violation = {
    law,
    what,
    operation,
    number: draft.number,
    changes: draft.changes,
    command: '',
    isRepeatable: false,
    times: 1,
  }
  violations.push(violation)
  const connection = new Connection(place.port)
  const least = await minimize(draft, async (other) => {
    if (isTheirs(other, place.world)) return false
    const { answer, faults } = await attempt(connection, place.laws, other, place.host)
    if (answer && spoils(other, answer)) await place.world.person.renew()
    return faults.some((fault) => fault.law === law)
  })
  connection.close()
  violation.isRepeatable = least !== undefined
  violation.command = commandOf(least ?? draft, place.host)
  place.found(violation)
}
