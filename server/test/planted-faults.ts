import pg from 'pg'
import { expect } from 'vitest'
import { sqlState } from '../src/platform/database/failures.ts'
import { backgroundName } from './service.ts'

/** A part of a statement, and the same without its effect. */
interface Predicate {
  pattern: RegExp
  without: (whole: string, parameter: string) => string
}

/**
 * An organization predicate in a statement, or that of a related record in a search; lookups of the credential itself are
 * by secret and do not need one.
 */
export const organizationPredicate: Predicate = {
  pattern:
    /(?<!credential_\w+\.)\borganization_id = (\$\d+::uuid|\(select \$\d+::uuid\)|(?:record|related_\d)\.organization_id)/g,
  without: (_, parameter) => `organization_id is not null and ${parameter} is not null`,
}

/** A statement from which one or all predicates are removed. */
interface Fault {
  text: string
  occurrence: number | 'all'
}

/** A request and its observable effect, which is the same each time unless a predicate is missing. */
export interface Probe {
  description: string
  observe: () => Promise<string>
  /** Statements from which all predicates are removed at once, too, although they return what they have written. */
  all?: RegExp
}

/** Records every statement that this process sends to the database, and changes those with a planted fault. */
export interface Statements {
  /** The statements since the previous call. */
  sent(): string[]
  /**
   * Plants each fault in turn in the statements of the probes. Meanwhile, every transaction is rolled back, so that each
   * probe always finds the same data; `beforeRollback` is a query that runs first, with no rows where it is not the probe's.
   */
  plant(probes: readonly Probe[], beforeRollback?: string): Promise<Planted>
  /** Results of `beforeRollback` since the previous call. */
  transactionResults(): string
  restore(): void
}

export interface Planted {
  /** Where the faults were that no probe detected. */
  missed: string[]
  /** Where the others were. */
  detected: string[]
  /** The statements that the probes sent without a fault. */
  sent: ReadonlySet<string>
}

const inFailedTransaction = '25P02'

/** The pool of background work, whose transactions would be undone, and repeated between the statements of requests. */
export const isInBackground = (client: pg.Client): boolean =>
  (client as unknown as { connectionParameters: pg.ClientConfig }).connectionParameters.application_name ===
  backgroundName

/** Watches the statements of all connections but those that `isLeftOut` names. */
export function watchStatements(
  predicate = organizationPredicate,
  isLeftOut: (client: pg.Client) => boolean = () => false,
): Statements {
  const original = pg.Client.prototype.query
  const sent: string[] = []
  const transactionResults: string[] = []
  let planted: Fault | undefined
  let probing: { beforeRollback: string | undefined } | undefined
  /** Connections in a transaction. */
  const inTransaction = new WeakSet<pg.Client>()
  const takeSent = () => sent.splice(0)

  function query(this: pg.Client, given: string | pg.QueryConfig, ...rest: unknown[]): unknown {
    const forward = (statement: unknown) => Reflect.apply(original, this, [statement, ...rest])
    if (isLeftOut(this)) return forward(given)
    const text = typeof given === 'string' ? given : given.text
    sent.push(text)
    if (text === 'commit' || text === 'rollback') inTransaction.delete(this)
    if (probing && text === 'commit') {
      const inspection = Reflect.apply(original, this, [probing.beforeRollback ?? 'select where false'])
      return asCommitted(inspection as Promise<pg.QueryResult>, forward('rollback') as Promise<pg.QueryResult>)
    }
    // Without a name, so that the changed text is not taken for the prepared statement.
    const isPlanted = typeof given !== 'string' && planted?.text === text
    const faulty = isPlanted && planted ? { text: withFault(planted, predicate), values: given.values } : given
    if (text === 'begin') inTransaction.add(this)
    if (probing && !inTransaction.has(this) && /\binsert into\b/.test(text))
      return inUndoneTransaction(this, probing.beforeRollback, forward, faulty)
    return forward(faulty)
  }
  /** Without rows, the transaction was one of the service's own, which continues in the background. */
  const keepRows = ({ rows }: pg.QueryResult): void => {
    if (rows.length > 0) transactionResults.push(JSON.stringify(rows))
  }
  /** Runs a statement that is its own transaction in one that is rolled back. */
  async function inUndoneTransaction(
    client: pg.Client,
    beforeRollback: string | undefined,
    forward: (statement: unknown) => unknown,
    statement: unknown,
  ) {
    const send = (text: string) => Reflect.apply(original, client, [text]) as Promise<pg.QueryResult>
    await send('begin')
    try {
      const result = (await forward(statement)) as pg.QueryResult
      if (beforeRollback) keepRows(await send(beforeRollback))
      return result
    } finally {
      await send('rollback')
    }
  }
  /** The result of a rollback, reported as that of the commit, which rolls back too if a statement of the transaction failed. */
  const asCommitted = async (inspection: Promise<pg.QueryResult>, rolledBack: Promise<pg.QueryResult>) => {
    const command = await inspection.then(
      (result) => {
        keepRows(result)
        return 'COMMIT'
      },
      (error: unknown) => {
        if (sqlState(error) !== inFailedTransaction) throw error
        return 'ROLLBACK'
      },
    )
    return { ...(await rolledBack), command }
  }
  pg.Client.prototype.query = query as typeof original

  return {
    sent: takeSent,
    transactionResults: () => transactionResults.splice(0).join(' '),
    async plant(probes, beforeRollback) {
      probing = { beforeRollback }
      const allSent = new Set<string>()
      /** Whether each fault was detected, by its location. */
      const detectedByLocation = new Map<string, boolean>()
      try {
        for (const { description, observe, all } of probes) {
          takeSent()
          const baseline = await observe()
          const once = takeSent()
          for (const text of once) allSent.add(text)
          expect(await observe(), `${description} has different results without a fault`).toBe(baseline)
          // Not those that are sent at most once a minute, such as the last use of a key.
          const again = new Set(takeSent())
          const texts = once.filter((text) => again.has(text))
          for (const fault of faultsIn(texts, predicate, all)) {
            const key = `${description} ${locationOf(fault, predicate)}`
            if (detectedByLocation.get(key)) continue
            planted = fault
            takeSent()
            detectedByLocation.set(key, (await observe()) !== baseline)
            expect(takeSent(), description).toContain(fault.text)
            planted = undefined
          }
        }
      } finally {
        planted = probing = undefined
      }
      const locationsWhere = (isDetected: boolean) =>
        [...detectedByLocation.keys()].filter((location) => detectedByLocation.get(location) === isDetected)
      return { missed: locationsWhere(false), detected: locationsWhere(true), sent: allSent }
    },
    restore: () => void (pg.Client.prototype.query = original),
  }
}

/** A predicate that can be removed without an effect, and the rule that protects the data instead. */
export interface RedundantPredicate {
  reason: string
  location: RegExp
}

/** Expects that only redundant predicates were missed, and each of them at least once. */
export function expectOnlyRedundant(missed: readonly string[], redundant: readonly RedundantPredicate[]): void {
  expect(missed.filter((place) => !redundant.some(({ location }) => location.test(place)))).toEqual([])
  expect(redundant.filter(({ location }) => !missed.some((place) => location.test(place)))).toEqual([])
}

function withFault({ text, occurrence }: Fault, { pattern, without }: Predicate): string {
  let count = 0
  return text.replace(pattern, (whole, parameter: string) =>
    occurrence === 'all' || count++ === occurrence ? without(whole, parameter) : whole,
  )
}

const faultsIn = (texts: readonly string[], { pattern }: Predicate, all?: RegExp): Fault[] =>
  [...new Set(texts)].flatMap((text) => {
    const single = [...text.matchAll(pattern)].map((_, occurrence) => ({ text, occurrence }))
    return single.length > 1 && (all?.test(text) || !/returning|for update/.test(text))
      ? [...single, { text, occurrence: 'all' as const }]
      : single
  })

/** The location of the predicate: the text before it, without parameter numbers, which differ between variants of a statement. */
function locationOf({ text, occurrence }: Fault, { pattern }: Predicate): string {
  if (occurrence === 'all') return `all of ${text.slice(0, 60)}`
  const at = [...text.matchAll(pattern)][occurrence]?.index ?? 0
  return text
    .slice(Math.max(0, at - 220), at)
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\$\d+/g, '$')
}
