import { pino } from 'pino'
import { Writable } from 'node:stream'
import pg from 'pg'
import { Database } from '../src/platform/database/database.ts'
import type { RetentionPolicy } from '../src/platform/operations/maintenance/retention-store.ts'
import { PurgeRounds } from '../src/platform/operations/maintenance/maintenance.ts'
import { retentionPolicies } from '../src/retention-policies.ts'
import { tablesByPlace } from '../src/places.ts'
import { isDistributed } from './engines.ts'
import { createDatabase, testCluster } from './postgres.ts'
import { citus } from '../src/platform/database/distribution/citus.ts'

/** A database whose maintenance the test runs round by round. */
export interface MaintenanceFixture {
  connection: pg.ClientConfig
  database: Database
  client: pg.Client
  logged: string[]
  /** The number of purged records, by kind. */
  purged: Record<string, number>
  /** Inserts records, given by column, into a table. */
  insert(table: string, records: readonly Record<string, unknown>[]): Promise<void>
  /** The same for several tables, in this order, in one step. */
  insertAll(tables: ReadonlyMap<string, readonly Record<string, unknown>[]>): Promise<void>
  /** Runs one round of the maintenance, like a separate process. */
  round(): Promise<boolean>
  /** The rounds of one process. */
  rounds(policies?: readonly RetentionPolicy[]): PurgeRounds
  count(table: string, where?: string): Promise<number>
  close(): Promise<void>
}

export const importRowsDays = 90
export const retention = { importRowsDays, auditLogDays: 730, historyDays: 1825, eventDays: 30 }

export async function createMaintenanceFixture(): Promise<MaintenanceFixture> {
  const { connection, drop } = await createDatabase()
  const database = new Database({ connection, size: 4 })
  if (testCluster().engine === 'citus') database.useEngine(citus(tablesByPlace.organization))
  const client = new pg.Client(connection)
  await client.connect()
  const logged: string[] = []
  const purged: Record<string, number> = {}
  const log = pino(new Writable({ write: (chunk, _encoding, done) => done(void logged.push(String(chunk))) }))
  const rounds = (policies: readonly RetentionPolicy[] = retentionPolicies(retention)) =>
    new PurgeRounds({
      database,
      log,
      retentionPolicies: policies,
      purged: (name, count) => (purged[name] = (purged[name] ?? 0) + count),
    })
  async function insertAll(tables: ReadonlyMap<string, readonly Record<string, unknown>[]>): Promise<void> {
    const statements = [...tables].flatMap(([table, records]) => {
      if (records.length === 0) return []
      const names = [...new Set(records.flatMap((record) => Object.keys(record)))].join(', ')
      const rows = client.escapeLiteral(JSON.stringify(records))
      return `insert into ${table} (${names}) select ${names} from json_populate_recordset(null::${table}, ${rows})`
    })
    // In one transaction, Citus refuses some of them after others.
    for (const text of isDistributed() ? statements : [statements.join(';\n')]) await client.query(text)
  }
  return {
    connection,
    database,
    client,
    logged,
    purged,
    rounds,
    round: () => rounds().run(),
    insert: (table, records) => insertAll(new Map([[table, records]])),
    insertAll,
    async count(table, where = 'true') {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from ${table} where ${where}`,
      )
      return rows[0]?.count ?? -1
    },
    async close() {
      await database.close()
      await client.end()
      await drop()
    },
  }
}

const day = 24 * 60 * 60 * 1000

/** The time this many days ago. */
export const ago = (days: number): string => new Date(Date.now() - days * day).toISOString()
