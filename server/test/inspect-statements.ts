import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll } from 'vitest'
import { migrationsFolder } from '../src/release.ts'
import { takeRecordedStatements } from './recorded-statements.ts'
import { violationsOf } from './statement-inspection.ts'

/**
 * Loaded before each test file: inspects every statement that the service sends, in this process or in one that the
 * tests start, and fails the file whose tests sent one that breaks a rule of `places.ts`.
 */

/** Commands that work on the whole database: they lock or copy all tables, and nothing else runs meanwhile. */
const ofWholeDatabase = new Set(['rapport migrate', 'rapport backup', 'rapport restore', 'rapport service'])

type Query = (this: pg.Client, statement: unknown, ...others: unknown[]) => unknown
type InspectedClient = { query: Query; inspection?: Inspection }

interface Inspection {
  seen: Set<string>
  violations: Set<string>
}

// Test files of one worker share `pg`.
const client = pg.Client.prototype as unknown as InspectedClient
const inspection = (client.inspection ??= inspectQueries(client))

afterAll(() => {
  for (const { name, text } of takeRecordedStatements()) if (!ofWholeDatabase.has(name)) inspect(text, inspection)
  const found = [...inspection.violations]
  inspection.violations.clear()
  if (found.length > 0) throw new Error(found.join('\n\n'))
})

function inspectQueries(inspected: InspectedClient): Inspection {
  const { query } = inspected
  const started: Inspection = { seen: new Set(), violations: new Set() }
  inspected.query = function (statement, ...others) {
    const text = textOf(statement)
    if (text !== undefined && isOfService(this)) inspect(text, started)
    return query.call(this, statement, ...others)
  }
  return started
}

function inspect(text: string, { seen, violations }: Inspection): void {
  if (seen.has(text)) return
  seen.add(text)
  const found = violationsOf(text)
  if (found.length === 0 || isMigration(text)) return
  for (const violation of found) violations.add(`A statement ${violation}:\n${text}`)
}

/** A connection that migrates has the name in the URL, if there is one. */
const isMigration = (text: string): boolean =>
  readdirSync(migrationsFolder).some((file) => readFileSync(join(migrationsFolder, file), 'utf8').includes(text))

function textOf(statement: unknown): string | undefined {
  if (typeof statement === 'string') return statement
  return typeof statement === 'object' && statement && 'text' in statement ? String(statement.text) : undefined
}

/** Tests read and prepare the database with connections of their own, which have no name. */
function isOfService(connection: pg.Client): boolean {
  const { connectionParameters: parameters } = connection as unknown as { connectionParameters?: pg.ClientConfig }
  const name = parameters?.application_name ?? ''
  return name.startsWith('rapport') && !ofWholeDatabase.has(name)
}
