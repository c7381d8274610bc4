import type pg from 'pg'
import { newIdAt } from '../../platform/model/ids.ts'
import { analyseByRules } from '../../assistant/analysis/local-rules.ts'
import type { NoteFacts } from '../../assistant/analysis/analysis.ts'
import {
  actsAlone,
  analysisColumns,
  analysisRow,
  type Finding,
  suggestionColumns,
  suggestionRow,
} from '../../assistant/work/result-rows.ts'
import { demoData } from './data.ts'
import type { DemoOptions } from './people.ts'
import { itemAt, Random } from './random.ts'
import { formatInstant } from './timeline.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const day = 24 * 3_600_000
const maxReplies = 60
/** Days before the reference day in which the replies were written, and for which nobody has decided. */
const ages = { all: 30, undecided: 6 }

interface Person {
  id: string
  name: string | null
  email: string | null
  phone: string | null
  timeZone: string | null
  hasOpenDeal: boolean
}

/** Rows of each table, by column. */
interface Rows {
  notes: JsonObject[]
  note_analyses: JsonObject[]
  suggestions: JsonObject[]
  tasks: JsonObject[]
  optedOut: string[]
}

/**
 * Adds replies of the contacts who were active last and existed before them, what the rules find in them, and what people decided. Resolves to
 * the number of notes and tasks.
 */
export async function fillSuggestions(
  client: pg.Client,
  { organizationId, seed, ownerId, end, contacts }: DemoOptions,
): Promise<{ notes: number; tasks: number }> {
  const random = new Random(seed + 5)
  const { aboutDeals, decided, toMachines } = demoData.replies
  const count = Math.min(maxReplies, Math.ceil(contacts / 10))
  const { rows: people } = await client.query<Person>(
    `select id, name, email, phone, time_zone as "timeZone", "hasOpenDeal"
     from (select *, row_number() over (partition by "hasOpenDeal" order by last_activity_at desc, email) as place
       from (select *, exists (select from deal_contacts link
           join deals deal on deal.organization_id = $1 and deal.id = link.deal_id and deal.status = 'open'
           where link.organization_id = $1 and link.contact_id = contacts.id) as "hasOpenDeal"
         from contacts
         where organization_id = $1 and last_activity_at is not null and blocked_at is null and created_at < $3) one) one
     order by "hasOpenDeal" and place <= $4 desc, last_activity_at desc, email limit $2`,
    [organizationId, count, formatInstant(end - (ages.all + 1) * day), aboutDeals.length],
  )
  const rows: Rows = { notes: [], note_analyses: [], suggestions: [], tasks: [], optedOut: [] }
  for (const [index, person] of people.entries()) {
    const moment = Math.floor(end - 60_000 - (index / people.length) * ages.all * day)
    const isDecided = end - moment > ages.undecided * day
    const isAboutDeal = !isDecided && person.hasOpenDeal && index < aboutDeals.length
    const texts = isAboutDeal ? aboutDeals : isDecided ? decided : [...decided, ...toMachines]
    await addReply(rows, {
      organizationId,
      ownerId,
      person,
      moment,
      isDecided,
      random,
      text: itemAt(texts, index % texts.length),
    })
  }
  for (const name of ['notes', 'note_analyses', 'suggestions', 'tasks'] as const)
    await insertRows(client, organizationId, name, rows[name])
  await client.query(
    `update contacts set email_opt_out = email_opt_out or contacts.id = any($2::uuid[]),
       last_activity_at = greatest(last_activity_at, note.created_at)
     from notes note
     where contacts.organization_id = $1 and note.organization_id = $1 and note.contact_id = contacts.id
       and note.id = any($3::uuid[])`,
    [organizationId, rows.optedOut, rows.notes.map(({ id }) => id)],
  )
  return { notes: rows.notes.length, tasks: rows.tasks.length }
}

interface Reply {
  organizationId: string
  ownerId: string
  person: Person
  moment: number
  text: string
  isDecided: boolean
  random: Random
}

async function addReply(rows: Rows, reply: Reply): Promise<void> {
  const { organizationId, person, moment, text, isDecided } = reply
  const at = formatInstant(moment)
  const noteId = newIdAt(moment)
  const times = { created_at: at, updated_at: at }
  rows.notes.push({ id: noteId, contact_id: person.id, body: text, source: 'import', ...times })
  const note = { organizationId, text }
  const analysis = await analyseByRules(note, factsOf(person, moment), new AbortController().signal)
  const finding: Finding = {
    ...{ id: noteId, revision: 1, contactId: person.id, companyId: null, dealId: null },
    ...{ isPushed: true, importId: null },
    ...{ text, analysis: { ...analysis, latencyMs: 1 }, analysisId: newIdAt(moment) },
  }
  rows.note_analyses.push({ ...analysisRow(finding), created_at: at })
  for (const [index, action] of analysis.actions.entries()) {
    // Lists show the latest first: of one note, in the order of the actions.
    const id = newIdAt(moment + analysis.actions.length - index)
    const isOptOut = action.type === 'suppress' && actsAlone(finding, action)
    if (isOptOut) rows.optedOut.push(person.id)
    const effects = { optedOut: new Set(rows.optedOut), reasons: new Map() }
    const row: JsonObject = { ...suggestionRow(finding, action, effects), id, ...times }
    rows.suggestions.push(
      row.status === 'pending' ? { ...row, ...(isDecided && decide(rows, reply, row)) } : { ...row, decided_at: at },
    )
  }
}

const factsOf = ({ timeZone, email, phone, hasOpenDeal }: Person, moment: number): NoteFacts => ({
  now: new Date(moment),
  contactTimeZone: timeZone,
  organizationTimeZone: 'UTC',
  contactEmails: email === null ? [] : [email],
  contactPhones: phone === null ? [] : [phone],
  stageKind: hasOpenDeal ? 'open' : null,
  hasOwner: true,
  openTasks: 0,
})

/** Most suggestions were accepted: what changed, after a task was created. */
function decide(rows: Rows, { person, moment, ownerId, random }: Reply, row: JsonObject): JsonObject {
  const decidedAt = formatInstant(moment + 3_600_000)
  const decision = { decided_by_id: ownerId, decided_at: decidedAt, updated_at: decidedAt }
  const verb = demoData.taskTitles[String(row.type)]
  if (verb === undefined || random.chance(0.2)) return { ...decision, status: 'rejected' }
  const id = newIdAt(moment + 3_600_000)
  const title = random.chance(0.15) ? 'Call back before noon' : undefined
  const isDone = random.chance(0.6)
  rows.tasks.push({
    id,
    title: title ?? `${verb} ${person.name ?? person.email ?? 'the contact'}`,
    ...{ due_at: row.due_at ?? null, deadline: row.due_at ?? null, time_zone: 'UTC' },
    ...{ assignee_id: ownerId, created_by_id: ownerId, priority: row.priority ?? 'normal', contact_id: person.id },
    ...{ done: isDone, done_at: isDone ? decidedAt : null, created_at: decidedAt, updated_at: decidedAt },
  })
  return { ...decision, status: 'accepted', edits: title === undefined ? null : { title }, result_task_id: id }
}

const columns = {
  notes: {
    id: 'uuid',
    contact_id: 'uuid',
    body: 'text',
    source: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  note_analyses: { ...analysisColumns, created_at: 'timestamptz' },
  suggestions: {
    ...suggestionColumns,
    decided_by_id: 'uuid',
    edits: 'jsonb',
    result_task_id: 'uuid',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  tasks: {
    ...{ id: 'uuid', title: 'text', due_at: 'timestamptz', deadline: 'timestamptz', time_zone: 'text' },
    ...{ assignee_id: 'uuid', created_by_id: 'uuid', priority: 'text', contact_id: 'uuid', done: 'boolean' },
    ...{ done_at: 'timestamptz', created_at: 'timestamptz', updated_at: 'timestamptz' },
  },
}

async function insertRows(
  client: pg.Client,
  organizationId: string,
  table: keyof typeof columns,
  rows: readonly JsonObject[],
): Promise<void> {
  const types = Object.entries(columns[table])
  const names = types.map(([name]) => name).join(', ')
  await client.query(
    `insert into ${table} (organization_id, ${names})
     select $1, ${names} from jsonb_to_recordset($2::jsonb) as given(${types.map((column) => column.join(' ')).join(', ')})`,
    [organizationId, JSON.stringify(rows)],
  )
}
