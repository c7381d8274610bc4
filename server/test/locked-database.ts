import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Finding } from '../src/cli/finding.ts'
import { connect } from '../src/platform/database/connect.ts'
import { databaseUrlOf, run } from './command-line.ts'
import { createDatabase } from './postgres.ts'

/** A database that the doctor examines while sessions hold locks. */
export async function lockedDatabase() {
  const database = await createDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'rapport-locks-'))
  return {
    connection: database.connection,
    /** A session of this name, until the test ends. */
    async open(name: string): Promise<{ client: pg.Client; pid: number }> {
      const client = await connect({ ...database.connection, application_name: name })
      onTestFinished(() => client.end())
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      return { client, pid: rows[0]?.pid ?? 0 }
    },
    /** What the doctor finds, by name. */
    async findings(): Promise<Record<string, Finding>> {
      const environment = {
        DATABASE_URL: databaseUrlOf(database),
        DATA_DIR: folder,
        SECRET: 'a secret that is long enough for a test',
      }
      const { output } = await run(['doctor', '--json'], { environment })
      const list = (JSON.parse(output) as { findings: Finding[] }).findings
      return Object.fromEntries(list.map((finding) => [finding.name, finding]))
    },
    async drop(): Promise<void> {
      await database.drop()
      await rm(folder, { recursive: true })
    },
  }
}
