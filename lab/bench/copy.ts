import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from } from 'pg-copy-streams'
import type { Cell, TableRow } from './records.ts'

/** Characters per chunk. */
const chunkLength = 64 * 1024

/** Sends rows by COPY, each with its organization. */
export async function copyRows(
  client: pg.Client,
  table: string,
  columns: readonly string[],
  rows: Iterable<readonly [organizationId: string, row: TableRow]>,
): Promise<void> {
  const names = ['organization_id', ...columns].join(', ')
  await pipeline(Readable.from(chunks(columns, rows)), client.query(from(`copy ${table} (${names}) from stdin`)))
}

function* chunks(columns: readonly string[], rows: Iterable<readonly [string, TableRow]>): Generator<string> {
  let text = ''
  for (const [organizationId, row] of rows) {
    text += organizationId
    for (const column of columns) text += `\t${copyText(row[column] ?? null)}`
    text += '\n'
    if (text.length < chunkLength) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

/** A value in COPY's text format (PostgreSQL, "COPY", File Formats). */
export function copyText(cell: Cell): string {
  if (cell === null) return String.raw`\N`
  if (typeof cell === 'number' || typeof cell === 'boolean') return String(cell)
  if (typeof cell === 'string') return escaped(cell)
  return escaped(Array.isArray(cell) ? `{${cell.map((item) => JSON.stringify(item)).join(',')}}` : JSON.stringify(cell))
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
const escaped = (text: string): string =>
  /[\\\t\n\r]/.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? '') : text

/**
 * Runs `work` while these tables have no foreign keys and no indexes except those of constraints. Afterwards they are
 * rebuilt at once, as in a restore, and the foreign keys are checked.
 */
export async function withoutIndexes(client: pg.Client, tables: readonly string[], work: () => Promise<void>) {
  const { rows: keys } = await client.query<{ drop: string; make: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
       format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as make
     from pg_constraint where contype = 'f' and conrelid = any($1::regclass[]) order by conname`,
    [tables],
  )
  const { rows: indexes } = await client.query<{ drop: string; make: string }>(
    `select format('drop index %s', indexrelid::regclass) as drop, pg_get_indexdef(indexrelid) as make
     from pg_index where indrelid = any($1::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid)
     order by indexrelid`,
    [tables],
  )
  const all = [...keys, ...indexes]
  for (const { drop } of all) await client.query(drop)
  await work()
  await client.query(`set maintenance_work_mem = '512MB'`)
  for (const { make } of all.toReversed()) await client.query(make)
  await client.query('reset maintenance_work_mem')
}
