import type { Connection } from './connection.ts'
import { type HttpResponse, NoResponseError } from './connection.ts'
import { bodyBytesOf, bytesOf, copyOfDraft, type Draft, isMalformed, targetOf } from './draft.ts'
import { positionsIn, scalar } from './json.ts'
import type { BrokenRule, Rules } from './rules.ts'

/** A violated rule. */
export interface Violation extends BrokenRule {
  operation: string
  number: number
  changes: readonly string[]
  /** A shell command that repeats the request. */
  command: string
  /** Whether the repeated request broke the rule again. */
  isRepeatable: boolean
  /** How often the operation broke the rule. */
  times: number
}

/** Sends a request and returns the rules that its response breaks. */
export async function attempt(
  connection: Connection,
  rules: Rules,
  draft: Draft,
  host: string,
): Promise<{ response: HttpResponse | undefined; violations: BrokenRule[] }> {
  try {
    const exchange = { isHead: draft.method === 'HEAD', closesConnection: isMalformed(draft) }
    const response = await connection.exchange(bytesOf(draft, host), exchange)
    return { response, violations: rules.violationsOf(draft, response) }
  } catch (error) {
    if (!(error instanceof NoResponseError)) throw error
    return { response: undefined, violations: [{ law: 'complete response', what: error.message }] }
  }
}

/** Maximum number of requests when reducing one. */
const maxAttempts = 300

/** The smallest request found that breaks the same rule; undefined if the original no longer breaks it. */
export async function minimize(draft: Draft, breaks: (draft: Draft) => Promise<boolean>): Promise<Draft | undefined> {
  if (!(await breaks(draft))) return undefined
  let [smallest, attemptsLeft] = [draft, maxAttempts]
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false
    for (const smaller of smallerThan(smallest)) {
      if (attemptsLeft-- <= 0) return smallest
      if (!(await breaks(smaller))) continue
      smallest = smaller
      isSmaller = true
      break
    }
  }
  return smallest
}

/** Slightly smaller requests. */
function* smallerThan(draft: Draft): Generator<Draft> {
  const changed = (make: (copy: Draft) => void): Draft => {
    const copy = copyOfDraft(draft)
    make(copy)
    return copy
  }
  for (const index of draft.query.keys()) yield changed(({ query }) => query.splice(index, 1))
  for (const index of draft.headers.keys()) yield changed(({ headers }) => headers.splice(index, 1))
  if (draft.framing === 'chunked') yield changed((copy) => (copy.framing = 'length'))
  if (draft.body === undefined) return
  yield changed((copy) => Object.assign(copy, { body: undefined, framing: 'none' }))
  yield* smallerBodies(draft)
}

function* smallerBodies(draft: Draft): Generator<Draft> {
  const { body } = draft
  if (body === undefined || Buffer.isBuffer(body)) {
    const bytes = bodyBytesOf(draft)
    if (bytes.length > 1) yield { ...draft, body: bytes.subarray(0, bytes.length >> 1) }
    return
  }
  if (body.kind === 'members') {
    for (const { name } of body.members)
      yield { ...draft, body: { kind: 'members', members: body.members.filter((member) => member.name !== name) } }
  }
  for (const [index, { json }] of positionsIn(body).entries()) {
    if (json.kind !== 'scalar' || json.text.length < 20 || !json.text.startsWith('"')) continue
    const copy = copyOfDraft(draft)
    if (copy.body === undefined || Buffer.isBuffer(copy.body)) continue
    positionsIn(copy.body)[index]?.replace(scalar(`${json.text.slice(0, json.text.length >> 1).replace(/\\.?$/, '')}"`))
    yield copy
  }
}

/** A shell command that sends the same bytes, with curl if possible. */
export function commandOf(draft: Draft, host: string): string {
  const bytes = bodyBytesOf(draft)
  const text = bytes.toString()
  const isPlain =
    !isMalformed(draft) &&
    /^[A-Z]+$/.test(draft.method) &&
    draft.path.startsWith('/') &&
    !/[^!-~]/.test(targetOf(draft))
  const isText = Buffer.from(text).equals(bytes) && !text.includes('\0') && text.length < 5000
  if (!isPlain || !isText || draft.headers.some((line) => /[^\x20-\x7e]/.test(line))) return rawCommandOf(draft, host)
  const method = draft.method === 'HEAD' ? '--head' : `-X ${draft.method}`
  // curl omits an empty header unless it ends in a semicolon, and adds these two headers.
  const own = draft.headers.map((line) => `-H ${quote(line.replace(/^([^:]+): *$/, '$1;'))}`)
  const removed = ['Accept', 'Content-Type'].filter(
    (name) => !draft.headers.some((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`)),
  )
  const body = draft.framing === 'none' ? [] : [`--data-binary ${quote(text)}`]
  const chunked = draft.framing === 'chunked' ? [`-H 'Transfer-Encoding: chunked'`] : []
  return [
    'curl -si --path-as-is -g',
    method,
    ...removed.map((name) => `-H '${name}:'`),
    ...own,
    ...chunked,
    ...body,
    quote(`http://${host}${targetOf(draft)}`),
  ].join(' ')
}

/** Sends raw bytes. Long repetitions are written as an expression. */
function rawCommandOf(draft: Draft, host: string): string {
  const [name, port] = host.split(':')
  const bytes = bytesOf(draft, host).toString('latin1')
  const expression = JSON.stringify(bytes).replace(/(.{1,8}?)\1{40,}/g, (whole, unit: string) =>
    unit.includes('\\') ? whole : `"+${JSON.stringify(unit)}.repeat(${whole.length / unit.length})+"`,
  )
  const program = `process.stdout.write(Buffer.from(${expression},"latin1"))`
  return `node -e ${quote(program)} | nc -q 6 ${name} ${port}`
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
