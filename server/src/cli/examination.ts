import pg from 'pg'
import { sqlState } from '../platform/database/failures.ts'
import { problemOf } from '../platform/database/problems.ts'
import { StartError } from '../platform/database/start-error.ts'
import type { Finding } from './finding.ts'

/** Milliseconds for each finding, so that a stuck one does not hide the others. */
export const findingTimeout = 5000

export type Check = (client: pg.Client) => Promise<Finding | Finding[]>

/** Runs checks one after the other. One that fails or takes too long is a finding itself. */
export class Examination {
  readonly #connection: pg.ClientConfig
  readonly findings: Finding[] = []
  #client: pg.Client | undefined
  /** Did a check take too long? */
  isStuck = false

  constructor(connection: pg.ClientConfig) {
    this.#connection = connection
  }

  /** Opens the connection. False, with a finding, if the database cannot be reached. */
  async connect(): Promise<boolean> {
    const client = new pg.Client({
      ...this.#connection,
      application_name: 'rapport doctor',
      connectionTimeoutMillis: findingTimeout,
      statement_timeout: findingTimeout,
      // For a server that does not respond at all.
      query_timeout: findingTimeout + 1000,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      this.#client = client
      return true
    } catch (error) {
      client.end().catch(() => undefined)
      const { cause, remedy } = problemOf(error) ?? {}
      this.findings.push({
        name: 'database',
        state: 'wrong',
        message: `cannot be reached: ${messageOf(error)}${cause === undefined ? '' : `. ${cause}`}`,
        advice: remedy ?? 'Check that it is running and that DATABASE_URL is right.',
      })
      return false
    }
  }

  /** Adds the findings of a check, and returns them. */
  async run(name: string, check: Check): Promise<Finding[]> {
    if (!this.#client && !(await this.connect())) return []
    const client = this.#client as pg.Client
    let found: Finding[]
    try {
      found = [await check(client)].flat()
    } catch (error) {
      found = [failedFinding(name, error)]
      const isTimeout = isTimedOut(error)
      this.isStuck ||= isTimeout
      // The next check gets a connection of its own, because the state of this one is unknown.
      if (!isTimeout || sqlState(error) === undefined) this.close()
    }
    this.findings.push(...found)
    return found
  }

  close(): void {
    // A graceful end would wait for a server that does not respond.
    this.#client?.end().catch(() => undefined)
    this.#client = undefined
  }
}

/** Did the check wait too long, for a lock or for the server? */
export const isTimedOut = (error: unknown): boolean =>
  ['57014', '55P03'].includes(sqlState(error) ?? '') ||
  (error instanceof Error && (/^(Query read timeout|timeout expired)$/.test(error.message) || isTimedOut(error.cause)))

export function failedFinding(name: string, error: unknown): Finding {
  const finding: Finding = { name, state: 'wrong', message: messageOf(error) }
  if (error instanceof StartError) return finding
  if (isTimedOut(error)) {
    const message = `not examined, because it took longer than ${findingTimeout / 1000} s`
    return { ...finding, message, advice: 'See `locks` below: a session may block it.' }
  }
  const problem = problemOf(error)
  return problem ? { ...finding, message: `${problem.cause} (${finding.message})`, advice: problem.remedy } : finding
}

/** A failed connection to several addresses has an empty message of its own. */
const messageOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(messageOf).join('; ')
    : error instanceof Error
      ? error.message
      : String(error)
