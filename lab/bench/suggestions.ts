import { Database } from '../../server/src/platform/database/database.ts'
import { newId, encodeId } from '../../server/src/platform/model/ids.ts'
import { analyseByRules } from '../../server/src/assistant/analysis/local-rules.ts'
import { type ClaimedNote, claimNotes } from '../../server/src/assistant/work/claim-store.ts'
import { storeAnalyses } from '../../server/src/assistant/work/result-store.ts'
import { concurrency, perTurn, time } from './history.ts'
import { headersOf } from './http.ts'
import { rotate } from './measure.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Sample } from './sample.ts'
import type { Testbed } from './stage.ts'

/** The batch size of the service. */
const maxNotes = 50
const leaseSeconds = 60
const turnsPerSecond = 2
const warmUpTurns = 2

type Measured = Record<'service' | 'floor', Measurement[]>

/**
 * Measures the analysis of waiting notes by the rules (the floor: the rules alone, without the queue and without
 * storing the results), and the acceptance of suggestions (the floor: creating the same tasks).
 */
export async function measureSuggestions(stage: Testbed, sample: Sample, names: readonly string[]): Promise<Row[]> {
  const { notesAnalysed, accepted } = rowNames
  const wanted = [notesAnalysed, accepted].filter((name) => names.includes(name))
  if (wanted.length === 0) return []
  const { options, log } = stage
  log(`${wanted.join(', ')}…`)
  const database = new Database({ connection: stage.connection, size: concurrency })
  const measured: Record<string, Measured> = {
    [notesAnalysed]: { service: [], floor: [] },
    [accepted]: { service: [], floor: [] },
  }
  const turns = warmUpTurns + Math.ceil(options.rounds * options.seconds * turnsPerSecond)
  for (let turn = 0; turn < turns; turn++) {
    const { claimed, analysis } = await analyseNotes(stage, database, sample)
    measured[notesAnalysed]?.service.push(analysis)
    measured[notesAnalysed]?.floor.push(await analyseAlone(stage, claimed))
    const suggestionIds = await pendingSuggestions(stage, claimed)
    const [contactId = ''] = sample.ids
    const task = { title: 'Call Ada', dueAt: '2036-01-02T14:00:00.000Z', contactId: encodeId('con', contactId) }
    const turnOf = {
      service: () => time(suggestionIds, (id) => send(stage, `/v5/suggestions/${encodeId('sug', id)}/accept`, {})),
      floor: () => time(suggestionIds, () => send(stage, '/v5/tasks', task)),
    }
    for (const kind of rotate(['service', 'floor'] as const, turn))
      measured[accepted]?.[kind].push(await turnOf[kind]())
  }
  await database.close()
  return wanted.map((name) =>
    rowOf({
      name,
      connections: null,
      service: figuresOf(measured[name]?.service.slice(warmUpTurns) ?? []),
      floor: figuresOf(measured[name]?.floor.slice(warmUpTurns) ?? []),
      driver: null,
      memory: [undefined, undefined],
      databaseMemory: undefined,
    }),
  )
}

/** Queues notes, and measures the work of one worker until none waits. */
async function analyseNotes(
  { client, measured: { organizationId }, options }: Testbed,
  database: Database,
  sample: Sample,
): Promise<{ claimed: ClaimedNote[]; analysis: Measurement }> {
  const contactIds = Array.from({ length: perTurn(options) }, (_, index) => sample.ids[index % sample.ids.length])
  await client.query(
    `insert into notes (organization_id, id, contact_id, body, source, reasoning_queued_at)
     select $1, id, contact_id, 'Thanks for the demo! Could you please call me tomorrow at 14:00?', 'import', now()
     from unnest($2::uuid[], $3::uuid[]) note (id, contact_id)`,
    [organizationId, contactIds.map(() => newId()), contactIds],
  )
  const claimed: ClaimedNote[] = []
  const { signal } = new AbortController()
  const startedAt = performance.now()
  for (;;) {
    const claim = await claimNotes(database, organizationId, { maxNotes, leaseSeconds })
    if (claim.notes.length === 0) break
    const analysed = []
    for (const note of claim.notes)
      analysed.push({
        note,
        analysis: await analyseByRules({ organizationId, text: note.text }, note.facts, signal),
      })
    await storeAnalyses(database, claim, analysed)
    claimed.push(...claim.notes)
  }
  return { claimed, analysis: measurementSince(startedAt, claimed.length) }
}

async function analyseAlone({ measured: { organizationId } }: Testbed, notes: readonly ClaimedNote[]) {
  const { signal } = new AbortController()
  const startedAt = performance.now()
  for (const { text, facts } of notes) await analyseByRules({ organizationId, text }, facts, signal)
  return measurementSince(startedAt, notes.length)
}

const measurementSince = (startedAt: number, responses: number): Measurement => ({
  responses,
  seconds: (performance.now() - startedAt) / 1000,
  serviceCpu: undefined,
  databaseCpu: undefined,
})

/** The ids (UUIDs) of the suggestions for these notes. Errors: a note does not have exactly one. */
async function pendingSuggestions(
  { client, measured: { organizationId } }: Testbed,
  notes: readonly ClaimedNote[],
): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select id from suggestions where organization_id = $1 and note_id = any($2::uuid[]) and status = 'pending'`,
    [organizationId, notes.map(({ id }) => id)],
  )
  if (rows.length !== notes.length) throw new Error(`${rows.length} suggestions were made, not ${notes.length}.`)
  return rows.map(({ id }) => id)
}

async function send({ account, service }: Testbed, path: string, body: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    method: 'POST',
    headers: { ...headersOf(account), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`POST ${path}: ${response.status}\n${text}`)
}
