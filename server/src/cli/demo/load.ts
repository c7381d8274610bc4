import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { renderAllSql } from '../../platform/records/rendering/renderings.ts'
import { companies } from '../../crm/companies/resource.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { employments } from '../../crm/employments/resource.ts'
import { notes } from '../../crm/notes/resource.ts'
import { tasks } from '../../crm/tasks/resource.ts'
import { type CopiedTable, copiedTable, plainLine } from './copy-text.ts'
import type { GeneratedPerson } from './generated-record.ts'
import { fillDeals } from './load-deals.ts'
import { fillSuggestions } from './load-suggestions.ts'
import { type DemoOptions, People } from './people.ts'
import { fillProperties } from './properties.ts'

/** The tables to fill, each one after those that it references. */
export const filledTables = [
  'companies',
  'root_contacts',
  'contacts',
  'contact_external_ids',
  'employments',
  'notes',
  'tasks',
] as const
/** Tables that are filled afterwards, from what is in the others. */
export const derivedTables = [
  'deals',
  'deal_contacts',
  'stage_moves',
  'events',
  'note_analyses',
  'suggestions',
] as const
type FilledTable = (typeof filledTables)[number]
export type TableCounts = Record<FilledTable | 'deals', number>

/** COPY lines of each table. */
type Lines = Record<FilledTable, string[]>

/** Number of companies or people that are generated while the previous ones are written. */
const batchSize = 4000
/** Number of records generated before control returns to the event loop, and lines per chunk. */
const chunkSize = 50

/** Fills the tables on a connection that is in a transaction. `onProgress` receives the number of contacts so far. */
export async function fill(
  client: pg.Client,
  options: DemoOptions,
  onProgress: (contacts: number) => void,
): Promise<TableCounts> {
  const tables = tablesOf(options.organizationId)
  const counts = perTable(() => 0)
  const write = async (lines: Lines): Promise<void> => {
    for (const name of filledTables) {
      if (lines[name].length > 0) await copy(client, { name, columns: tables[name].columns }, lines[name])
      counts[name] += lines[name].length
    }
    onProgress(counts.contacts)
  }
  const people = new People(options)
  let writing = Promise.resolve()
  for await (const lines of batchesOf(people, options.contacts, tables)) {
    await writing
    writing = write(lines)
    // Reported with the next batch, or at the end.
    writing.catch(() => undefined)
  }
  await writing
  const dealCount = await fillDeals(client, options, {
    companies: people.companies,
    copy: (table, lines) => copy(client, table, lines),
  })
  const replies = await fillSuggestions(client, options)
  await client.query(companyActivity, [options.organizationId])
  await fillProperties(client, options.organizationId)
  for (const resource of [companies, contacts]) {
    const { text, values } = renderAllSql(resource, options.organizationId).render()
    await client.query(text, values)
  }
  const [noteCount, taskCount] = [counts.notes + replies.notes, counts.tasks + replies.tasks]
  return { ...counts, notes: noteCount, tasks: taskCount, deals: dealCount }
}

/** Activity on a contact counts for its company, which is written first. */
const companyActivity = `
  update companies set last_activity_at = active.last_activity_at
  from (
    select company_id, max(last_activity_at) as last_activity_at from contacts
    where organization_id = $1 and company_id is not null group by company_id) active
  where companies.organization_id = $1 and companies.id = active.company_id
    and (companies.last_activity_at < active.last_activity_at
      or companies.last_activity_at is null and active.last_activity_at is not null)`

async function* batchesOf(people: People, count: number, tables: Tables): AsyncGenerator<Lines> {
  const { companies: all } = people
  for (let first = 0; first < all.employers.length; first += batchSize) {
    const lines = perTable<string[]>(() => [])
    await eachOf(first, all.employers.length, (index) => {
      const { company, ...related } = people.makeCompany(index)
      lines.companies.push(tables.companies.lineOf(company))
      addRelated(lines, related, tables)
    })
    yield lines
  }
  for (let first = 0; first < count; first += batchSize) {
    const lines = perTable<string[]>(() => [])
    await eachOf(first, count, (index) => addPerson(lines, people.make(index), tables))
    yield lines
  }
}

async function eachOf(first: number, end: number, make: (index: number) => void): Promise<void> {
  const last = Math.min(first + batchSize, end)
  for (let index = first; index < last; index++) {
    make(index)
    if (index % chunkSize === 0) await yieldToEventLoop()
  }
}

function addPerson(lines: Lines, { contact, root, jobs, ...related }: GeneratedPerson, tables: Tables): void {
  if (root) lines.root_contacts.push(tables.root_contacts.lineOf([root.id, root.emailKey, root.createdAt]))
  lines.contacts.push(tables.contacts.lineOf(contact))
  const { id, teamId, externalIds } = contact.values
  for (const [provider, value] of Object.entries(externalIds ?? {})) {
    const parts = [uuidOf(teamId), provider, String(value), uuidOf(id)]
    lines.contact_external_ids.push(tables.contact_external_ids.lineOf(parts))
  }
  for (const job of jobs) lines.employments.push(tables.employments.lineOf(job))
  addRelated(lines, related, tables)
}

function addRelated(
  lines: Lines,
  { notes: texts, tasks: toDo }: Pick<GeneratedPerson, 'notes' | 'tasks'>,
  tables: Tables,
): void {
  for (const text of texts) lines.notes.push(tables.notes.lineOf(text))
  for (const task of toDo) lines.tasks.push(tables.tasks.lineOf(task))
}

/** The 32 hex digits after a prefix such as `con_`. */
const uuidOf = (id: unknown): string => String(id).slice(4)

type Tables = ReturnType<typeof tablesOf>

const tablesOf = (organizationId: string) => ({
  companies: copiedTable(companies, organizationId),
  root_contacts: plainTable(['id', 'email_key', 'created_at'], organizationId),
  contacts: copiedTable(contacts, organizationId),
  contact_external_ids: plainTable(['team_id', 'provider', 'value', 'contact_id'], organizationId),
  employments: copiedTable(employments, organizationId),
  notes: copiedTable(notes, organizationId),
  tasks: copiedTable(tasks, organizationId),
})

const plainTable = (columns: readonly string[], organizationId: string) => ({
  columns: ['organization_id', ...columns],
  lineOf: (values: readonly (string | null)[]) => plainLine([organizationId, ...values]),
})

const perTable = <Value>(value: () => Value): Record<FilledTable, Value> => ({
  companies: value(),
  root_contacts: value(),
  contacts: value(),
  contact_external_ids: value(),
  employments: value(),
  notes: value(),
  tasks: value(),
})

async function copy(
  client: pg.Client,
  { name, columns }: Pick<CopiedTable, 'columns'> & { name: string },
  lines: readonly string[],
): Promise<void> {
  const columnList = columns.map((column) => `"${column}"`).join(', ')
  await pipeline(Readable.from(chunksOf(lines)), client.query(copyFrom(`copy ${name} (${columnList}) from stdin`)))
}

function* chunksOf(lines: readonly string[]): Generator<Buffer> {
  for (let first = 0; first < lines.length; first += chunkSize)
    yield Buffer.from(lines.slice(first, first + chunkSize).join(''))
}
