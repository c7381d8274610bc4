import { createWriteStream } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type pg from 'pg'
import { connect } from '../platform/database/connect.ts'
import { tablesByPlace } from '../places.ts'
import { Failure } from './command.ts'

/** Hashes of secrets, encrypted responses, and what is derived from other tables. */
const excluded: readonly string[] = [
  'idempotency_answers',
  'import_secrets',
  'import_push_keys',
  'import_turns',
  'note_leases',
  'contact_renderings',
  'company_renderings',
]
const batchSize = 500

/**
 * Writes everything that the organization (uuid) has to a new file: one JSON object per line, with the table and the
 * row, compressed by gzip. First its settings and people. Resolves to the number of rows. Error: `Failure`.
 */
export async function exportOrganization(
  connection: pg.ClientConfig,
  { organizationId, file }: { organizationId: string; file: string },
): Promise<number> {
  const partFile = `${file}.part`
  const client = await connect({ ...connection, application_name: 'rapport export' })
  let count = 0
  const lines = async function* () {
    for await (const line of rowsOf(client, organizationId)) {
      count += 1
      yield `${line}\n`
    }
  }
  try {
    await client.query('begin isolation level repeatable read read only')
    await pipeline(lines, createGzip(), createWriteStream(partFile, { flags: 'w', mode: 0o600, flush: true }))
    // Unlike a rename, it replaces no file.
    await link(partFile, file)
    return count
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new Failure(`${file} already exists. Choose another name.`, { cause: error })
    if (error instanceof Error && 'syscall' in error)
      throw new Failure(`${file} cannot be written (${code}).`, { cause: error })
    throw error
  } finally {
    await rm(partFile, { force: true })
    await client.end()
  }
}

async function* rowsOf(client: pg.Client, organizationId: string): AsyncGenerator<string> {
  const people = `select members.role, members.created_at, users.id, users.name, users.email
    from members join users on users.id = members.user_id where members.organization_id = $1`
  yield* read(client, 'organizations', 'select * from organizations where id = $1', organizationId)
  yield* read(client, 'members', people, organizationId)
  for (const table of tablesByPlace.organization) {
    if (excluded.includes(table)) continue
    yield* read(client, table, `select * from ${table} where organization_id = $1`, organizationId)
  }
}

/** Read in batches: a table may be larger than the memory. */
async function* read(client: pg.Client, table: string, query: string, organizationId: string): AsyncGenerator<string> {
  const text = `declare exported no scroll cursor for
    select json_build_object('table', '${table}', 'row', to_json(one))::text as line from (${query}) one`
  await client.query(text, [organizationId])
  for (;;) {
    const { rows } = await client.query<{ line: string }>(`fetch ${batchSize} from exported`)
    for (const { line } of rows) yield line
    if (rows.length < batchSize) break
  }
  await client.query('close exported')
}
