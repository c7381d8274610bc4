import { Connection } from './connection.ts'
import type { Contract } from './document.ts'
import type { Draft } from './draft.ts'
import { drawRequest, isTheirs } from './drawing.ts'
import type { Account } from '../shared/service.ts'
import { type RecordRef, populate, type Population } from './fixture.ts'
import { Rules } from './rules.ts'
import { initialState, updateState, type Person, mayAffectSession } from './person.ts'
import { mark } from './stage.ts'
import { attempt, commandOf, minimize, type Violation } from './violations.ts'
import type { HttpResponse } from './connection.ts'
import type { FuzzContext } from './context.ts'

export interface ContextOptions {
  contract: Contract
  port: number
  ours: Account
  theirs: Account
  person: Person
  narrowKey: string
  expiredKey: string
  seed: number
}

/** Fills the organizations and returns the data from which requests are generated. */
export async function createContext({ contract, port, ours, theirs, ...others }: ContextOptions): Promise<FuzzContext> {
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
        // Each of their texts contains the mark; requests may contain their addresses and ids.
        words: [`${mark} Ada`, `${mark} Straße`],
        domain: 'theirs.example.com',
        records: 6,
      }),
    ),
    learned: { tags: new Map(), personState: initialState(others.person.account) },
  }
}

/** Adds records that only the owner's own session may refer to. */
function withAccount({ refs, ...population }: Population): Population {
  const { sessionId, organizationId } = population.account
  const own = Object.entries({ sessionId, organizationId })
  const more = own.map(([name, id]): RecordRef => ({ idParameter: name, params: { [name]: id }, lifetime: 'stable' }))
  return { ...population, refs: [...refs, ...more] }
}

export interface RunOptions {
  context: FuzzContext
  contract: Contract
  /** Ids of the other organization, as 32 hexadecimal digits. */
  foreignIds: ReadonlySet<string>
  port: number
  requests: number
  first: number
  connections: number
  /** Called from time to time with the number of sent requests. */
  onProgress: (sent: number) => void
  /** Called for the first violation of each rule by each operation. */
  onViolation: (violation: Violation) => void
}

/** The result of a run. */
export interface Result {
  seconds: number
  /** Responses by status. */
  statuses: Record<number, number>
  operations: Record<string, OperationResult>
  violations: Violation[]
}

export interface OperationResult {
  requests: number
  /** Responses with a status below 300, or 304. */
  successes: number
  statuses: number[]
  /** Milliseconds of the slowest response, and of all in total. */
  slowest: number
  total: number
}

/** More kinds of violations add no information. */
const maxViolations = 50

/** Sends the requests concurrently and checks each response against the rules. */
export async function run(options: RunOptions): Promise<Result> {
  const { port, requests, first, connections, context, contract, foreignIds } = options
  // With few connections, the service must accept all requests.
  const rules = new Rules(contract, { ids: foreignIds, mark }, connections > 16)
  const host = `127.0.0.1:${port}`
  const result: Result = { seconds: 0, statuses: {}, operations: {}, violations: [] }
  for (const { name } of contract.operations) result.operations[name] = newResult()
  const startedAt = performance.now()
  let [next, sent] = [0, 0]
  const work = async () => {
    const connection = new Connection(port)
    while (next < requests) {
      const draft = drawRequest(context, first + next++)
      const { response, violations } = await attempt(connection, rules, draft, host)
      if (response && mayAffectSession(draft, response)) await context.person.restore()
      countResponse(result, draft, response)
      if (response) learnFrom(context, draft, response)
      for (const violation of violations)
        await report(result, draft, violation, { context, rules, port, host, onViolation: options.onViolation })
      if (++sent % 500 === 0) options.onProgress(sent)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: connections }, work))
  result.seconds = (performance.now() - startedAt) / 1000
  return result
}

const newResult = (): OperationResult => ({ requests: 0, successes: 0, statuses: [], slowest: 0, total: 0 })

function countResponse(
  { statuses, operations }: Result,
  { operation, changes }: Draft,
  response: HttpResponse | undefined,
): void {
  const status = response?.status ?? 0
  statuses[status] = (statuses[status] ?? 0) + 1
  const own = operations[operation.name]
  // With another path or method, the request no longer belongs to the operation.
  if (!own || !response || changes.some((change) => /^(?:path|method)/.test(change))) return
  own.requests++
  if (status < 300 || status === 304) own.successes++
  if (!own.statuses.includes(status)) own.statuses.push(status)
  own.slowest = Math.max(own.slowest, response.milliseconds)
  own.total += response.milliseconds
}

/** Stores values for later requests, which could not be generated. */
function learnFrom({ learned }: FuzzContext, draft: Draft, response: HttpResponse): void {
  const tag = response.headers.get('etag')
  if (tag !== undefined && learned.tags.size < 10_000) learned.tags.set(draft.path, tag)
  updateState(learned.personState, draft, response)
}

interface ReportContext {
  context: FuzzContext
  rules: Rules
  port: number
  host: string
  onViolation: RunOptions['onViolation']
}

/** Reduces and reports the first violation of each rule in each operation; counts the others. */
async function report(
  { violations }: Result,
  draft: Draft,
  { law, what }: { law: string; what: string },
  reportContext: ReportContext,
): Promise<void> {
  const operation = `${draft.operation.method} ${draft.operation.path}`
  const known = violations.find((other) => other.law === law && other.operation === operation)
  if (known || violations.length >= maxViolations) {
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
  const connection = new Connection(reportContext.port)
  const smallest = await minimize(draft, async (other) => {
    if (isTheirs(other, reportContext.context)) return false
    const { response, violations } = await attempt(connection, reportContext.rules, other, reportContext.host)
    if (response && mayAffectSession(other, response)) await reportContext.context.person.restore()
    return violations.some((violation) => violation.law === law)
  })
  connection.close()
  violation.isRepeatable = smallest !== undefined
  violation.command = commandOf(smallest ?? draft, reportContext.host)
  reportContext.onViolation(violation)
}
