import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { tablesByPlace } from '../src/places.ts'
import { RowSum, type TableSum } from '../src/platform/operations/backup/row-sum.ts'
import { sessionSettings } from '../src/platform/operations/backup/take.ts'
import { connect } from '../src/platform/database/connect.ts'
import { type ProcessResult, launch, run, databaseUrlOf } from './command-line.ts'
import { isDistributed } from './engines.ts'
import type { TestDatabase } from './postgres.ts'

export const secret = 'the same secret for all of them, of 32 characters and more'

/** A folder for backups, with functions that run the backup commands on a test's database. */
export async function createBackupFixture() {
  const home = await mkdtemp(join(tmpdir(), 'rapport-backups-'))
  const settings = (database: Pick<TestDatabase, 'connection'>, more: Record<string, string> = {}) => ({
    environment: { DATABASE_URL: databaseUrlOf(database), DATA_DIR: join(home, 'data'), SECRET: secret, ...more },
  })
  return {
    home,
    file: (name: string) => join(home, name),
    backUp: (database: Pick<TestDatabase, 'connection'>, file: string, ...args: string[]): Promise<ProcessResult> =>
      run(['backup', file, ...args], settings(database)),
    restore: (database: Pick<TestDatabase, 'connection'>, file: string, ...args: string[]): Promise<ProcessResult> =>
      run(['restore', file, ...args], settings(database)),
    run: (database: Pick<TestDatabase, 'connection'>, ...args: string[]): Promise<ProcessResult> =>
      run(args, settings(database)),
    launch: (database: Pick<TestDatabase, 'connection'>, ...args: string[]) => launch(args, settings(database)),
    close: () => rm(home, { recursive: true, force: true }),
  }
}

/** The row count and checksum of each table, computed by PostgreSQL, including generated columns. */
export async function tableChecksums(
  connection: pg.ClientConfig,
): Promise<Record<string, { rows: number; sum: string }>> {
  const client = await connect(connection)
  try {
    await client.query(`begin isolation level repeatable read, read only; set local timezone = 'UTC'`)
    const { rows: tables } = await client.query<{ name: string }>(
      `select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
    )
    const found: Record<string, { rows: number; sum: string }> = {}
    for (const { name } of tables) {
      const { rows } = await client.query<{ rows: number; sum: string }>(
        `select count(*)::int as rows, md5(coalesce(string_agg(md5(t::text), '' order by md5(t::text)), '')) as sum from "${name}" t`,
      )
      if (rows[0]) found[name] = rows[0]
    }
    return found
  } finally {
    await client.end()
  }
}

/** The row count and checksum of each table, also of distributed ones, including generated columns. */
export async function contentsOf({ connection }: Pick<TestDatabase, 'connection'>): Promise<Record<string, TableSum>> {
  const client = await connect(connection)
  try {
    await client.query(sessionSettings)
    const contents: Record<string, TableSum> = {}
    for (const table of Object.values(tablesByPlace).flat()) {
      const sum = new RowSum()
      for await (const chunk of client.query(copyTo(`copy (select * from ${table}) to stdout`)))
        sum.add(chunk as Buffer)
      contents[table] = sum.result()
    }
    return contents
  } finally {
    await client.end()
  }
}

/** Columns, constraints, indexes, triggers and functions of the schema, one line each. */
export async function schemaOf(connection: pg.ClientConfig): Promise<string[]> {
  const client = await connect(connection)
  const inSchema = `in (select oid from pg_class where relnamespace = 'public'::regnamespace)`
  try {
    const { rows } = await client.query<{ line: string }>(
      `select attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull || ' ' ||
         attgenerated::text || ' ' || coalesce(pg_get_expr(adbin, adrelid), '') as line
       from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
       where attrelid ${inSchema} and attnum > 0 and not attisdropped
         and attrelid in (select oid from pg_class where relkind = 'r')
       union all select conrelid::regclass || ' ' || conname || ' ' || convalidated || ' ' || pg_get_constraintdef(oid)
         from pg_constraint where conrelid ${inSchema}
       union all select indisvalid || ' ' || pg_get_indexdef(indexrelid) from pg_index where indrelid ${inSchema}
       union all select tgenabled::text || ' ' || pg_get_triggerdef(oid) from pg_trigger where tgrelid ${inSchema} and not tgisinternal
       union all select relname || ' ' || reloptions::text from pg_class where oid ${inSchema} and reloptions is not null
       union all select pg_get_functiondef(p.oid) from pg_proc p
         where pronamespace = 'public'::regnamespace and prokind = 'f'
           and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
       order by 1`,
    )
    return rows.map(({ line }) => line)
  } finally {
    await client.end()
  }
}

/** Without the triggers of a restored database that is not distributed yet, if the others are. */
export async function restoredSchemaOf(connection: pg.ClientConfig): Promise<string[]> {
  const schema = await schemaOf(connection)
  return isDistributed() ? schema.filter((line) => !line.includes(' CREATE TRIGGER ')) : schema
}
