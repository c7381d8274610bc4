import pg from 'pg'
import { expect } from 'vitest'
import { decodeId } from '../src/platform/model/ids.ts'
import { parseSecret } from '../src/platform/secret/secret.ts'
import { sql } from '../src/platform/model/sql.ts'
import { databaseUrlOf } from './command-line.ts'
import { expectComplete, expectOutcomes, expectPlaced } from './feed-audit.ts'
import { expectSameRecords, FeedCopy } from './feed-copy.ts'
import { FeedProgram, persistent } from './feed-program.ts'
import { numberOf, readPages, readStream } from './feed-readers.ts'
import { type Random, randomOf } from './import-payloads.ts'
import { callAs } from './people.ts'
import type { TestDatabase } from './postgres.ts'
import { until } from './processes.ts'
import { seed } from './seed.ts'
import { type ServiceProcess, serviceProcesses, sharedSecret } from './service-process.ts'
import { type Call, type Json, startTestService, type TestOrganization, type TestService } from './service.ts'

const writers = 16

export interface CrashOptions {
  /** Operations of all writers. */
  operations: number
  /** Operations between two kills of a service, and between two ends of database sessions. */
  betweenKills: number
}

/**
 * Lets sixteen writers send random operations to several services while these and their database sessions are killed, and
 * expects the feed to have each acknowledged change once. Resolves to the milliseconds after the response of a change at
 * which a reader that waits had it, in ascending order.
 */
export async function proveUnderKills(
  database: TestDatabase,
  { operations, betweenKills }: CrashOptions,
): Promise<number[]> {
  const environment = { ROLE: 'api', DATABASE_URL: databaseUrlOf(database) }
  const place = { ...database, secret: parseSecret(sharedSecret), drop: async () => undefined }
  const auditor = await startTestService(environment, place)
  const processes = await serviceProcesses(database)
  try {
    const organization = await auditor.newOrganization()
    const start = (name: string) => processes.start(name, { REASONING_CONCURRENCY: '1' })
    const running = await Promise.all(['one', 'two', 'three'].map(start))
    const random = randomOf(seed)
    const next = () => running[Math.floor(random() * running.length)] as ServiceProcess
    const call = callerOf(organization, () => next().url)
    const program = new FeedProgram()
    await program.prepare(persistent(call), organization.triggerUrl)
    const followers = startFollowers(auditor, organization, { call, next })
    let isOver = false
    const written = Promise.all(
      Array.from({ length: writers }, (_, index) =>
        program.write(persistent(call), randomOf(seed + index), Math.ceil(operations / writers)),
      ),
    ).finally(() => (isOver = true))
    const killed = (async () => {
      for (let turn = 1; !isOver; turn++) {
        await until('there are changes', () => isOver || program.outcomes.length >= turn * betweenKills, 120_000)
        if (isOver) return turn
        if (turn % 2 === 0) await endSessions(database)
        else await replace(running, random, start)
      }
      return 0
    })()
    await Promise.all([written, killed])
    await until('all work is done', () => isIdle(auditor, organization), 120_000)
    await expectFollowed(auditor, organization, { program, followers })
    return followers.latencies(program)
  } finally {
    await processes.close()
    await auditor.close()
  }
}

type AnyCall = (...given: Parameters<Call>) => Promise<Awaited<ReturnType<Call>> | undefined>

/** Calls another service each time; undefined without a response. */
const callerOf =
  ({ apiKey, organizationId }: TestOrganization, nextUrl: () => string): AnyCall =>
  async (method, path, { body, headers } = {}) => {
    const common = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId }
    try {
      const response = await fetch(`${nextUrl()}${path}`, {
        method,
        headers: { ...common, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: text === '' ? undefined : JSON.parse(text),
      }
    } catch {
      return undefined
    }
  }

/** Reads of a service that is killed are repeated, as are those that it refuses because its database sessions ended. */
const repeated =
  (call: AnyCall): Call =>
  async (...given) => {
    for (;;) {
      const response = await call(...given)
      if (response && response.status < 500) return response
    }
  }

interface Followers {
  all: readonly { events: readonly Json[]; finish(position: string, count: number): Promise<void> }[]
  latencies(program: FeedProgram): number[]
}

/** One of them follows a service that is not killed, and notes when it sees each mark. */
function startFollowers(
  auditor: TestService,
  { apiKey, organizationId }: TestOrganization,
  { call, next }: { call: AnyCall; next: () => ServiceProcess },
): Followers {
  const headers = { authorization: `Bearer ${apiKey}`, 'service-organization-id': organizationId }
  const seen = new Map<string, number>()
  const onPage = (events: readonly Json[]) => {
    const now = performance.now()
    for (const { values } of events)
      for (const mark of JSON.stringify(values).match(/mark-\d+-/g) ?? []) seen.set(mark, seen.get(mark) ?? now)
  }
  const own = repeated(callAs(auditor, apiKey, { 'service-organization-id': organizationId }))
  const all = [
    readPages(own, { limit: 1000, wait: 25, onPage }),
    readPages(repeated(call), { limit: 10, wait: 5 }),
    readStream(() => next().url, headers),
  ]
  const latencies = ({ outcomes }: FeedProgram) =>
    outcomes
      .flatMap(({ mark, status, at }) =>
        mark === undefined || status >= 300 ? [] : [(seen.get(mark) ?? Infinity) - at],
      )
      .map((time) => Math.max(0, time))
      .toSorted((one, other) => one - other)
  return { all, latencies }
}

/** Kills a service, and starts another one in its place. */
async function replace(
  running: ServiceProcess[],
  random: Random,
  start: (name: string) => Promise<ServiceProcess>,
): Promise<void> {
  const index = Math.floor(random() * running.length)
  const killed = running[index]
  killed?.signal('SIGKILL')
  await killed?.ended
  const started = await start(killed?.name ?? '')
  running[index] = started
}

/** Ends one of the sessions that give positions, if there is one, and others that are in a transaction. */
async function endSessions({ connection }: TestDatabase): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  await client
    .query(
      `select pg_terminate_backend(pid) from (
        select pid from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state in ('active', 'idle in transaction')
        order by query like '%event_feeds%' desc, random() limit 4) ended`,
    )
    .finally(() => client.end())
}

/** The rows of a deleted import and the text of a deleted note wait until it is restored. */
export async function isIdle({ database }: TestService, { organizationId }: TestOrganization): Promise<boolean> {
  const id = decodeId('org', organizationId)
  const read = (waiting: ReturnType<typeof sql>) =>
    database.crossTenantQuery<{ isBusy: boolean }>('check the database', sql`select exists (${waiting}) as "isBusy"`)
  const busy = await Promise.all([
    read(sql`select from import_rows pushed join imports import on import.organization_id = pushed.organization_id
        and import.id = pushed.import_id and import.deleted_at is null
      where pushed.organization_id = ${id}::uuid and pushed.finished_at is null`),
    read(sql`select from notes
      where organization_id = ${id}::uuid and reasoning_queued_at is not null and deleted_at is null`),
  ])
  return busy.every(([row]) => row?.isBusy === false)
}

async function expectFollowed(
  { database }: TestService,
  { call, organizationId }: TestOrganization,
  { program, followers: { all } }: { program: FeedProgram; followers: Followers },
): Promise<void> {
  // It wakes those that wait.
  await call('POST', '/v5/campaigns', { body: { name: 'The end' } })
  const { position } = (await call('GET', '/v5/events/position')).body
  await Promise.all(all.map((reader) => reader.finish(position, numberOf(position))))
  const [first, ...others] = all.map(({ events }) => events)
  for (const events of others) expect(events).toEqual(first)
  expectComplete(first ?? [])
  expectOutcomes(first ?? [], program.outcomes)
  await expectPlaced(database, organizationId)
  const copy = new FeedCopy()
  await copy.follow(call)
  await expectSameRecords(copy, database, organizationId)
}

/** The value that this part of the sorted ones does not exceed. */
export const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

/** How long it took until changes were visible. */
export function printLatencies(latencies: readonly number[]): void {
  const [median, p99, max] = [0.5, 0.99, 1].map((part) => `${Math.round(percentile(latencies, part))} ms`)
  console.log(`${latencies.length} changes visible after: median ${median}, p99 ${p99}, max ${max}`)
}
