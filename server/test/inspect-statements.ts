import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll } from 'vitest'
import { migrationsFolder } from '../src/release.ts'
import { takeRecordedStatements } from './recorded-statements.ts'

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
  /** Those of the current file that are still to be inspected. */
  sent: Set<string>
}

// Test files of one worker share `pg`.
const client = pg.Client.prototype as unknown as InspectedClient
const inspection = (client.inspection ??= inspectQueries(client))

afterAll(async () => {
  for (const { name, text } of takeRecordedStatements()) if (!ofWholeDatabase.has(name)) note(text, inspection)
  const sent = [...inspection.sent]
  inspection.sent.clear()
  const found = sent.length > 0 ? await violationsIn(sent) : []
  if (found.length > 0) throw new Error(found.join('\n\n'))
})

function inspectQueries(inspected: InspectedClient): Inspection {
  const { query } = inspected
  const started: Inspection = { seen: new Set(), sent: new Set() }
  inspected.query = function (statement, ...others) {
    const text = textOf(statement)
    if (text !== undefined && isOfService(this)) note(text, started)
    return query.call(this, statement, ...others)
  }
  return started
}

function note(text: string, { seen, sent }: Inspection): void {
  if (!seen.has(text)) sent.add(text)
  seen.add(text)
}

async function violationsIn(texts: readonly string[]): Promise<string[]> {
  // Loaded here, with all declarations and a parser, because a file that sends no statement needs none of them.
  const { violationsOf } = await import('./statement-inspection.ts')
  return texts.flatMap((text) => {
    const violations = violationsOf(text)
    return violations.length === 0 || isMigration(text)
      ? []
      : violations.map((violation) => `A statement ${violation}:\n${text}`)
  })
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
