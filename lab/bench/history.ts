import { serviceActor, type Actor } from '../../server/src/platform/model/caller.ts'
import { Database } from '../../server/src/platform/database/database.ts'
import { newId } from '../../server/src/platform/model/ids.ts'
import { writeOne } from '../../server/src/platform/records/write/store.ts'
import { contacts } from '../../server/src/crm/contacts/resource.ts'
import { contactStore } from '../../server/src/crm/contacts/store.ts'
import { rotate } from './measure.ts'
import { figuresOf, type Measurement, type Row, rowOf } from './report.ts'
import { rowNames } from './row-names.ts'
import type { Testbed } from './stage.ts'
import type { Change } from '../../server/src/platform/records/declare/changes.ts'

/** Concurrent writes: one per connection. */
export const concurrency = 16
/**
 * Operations per turn. Turns are short and alternate often, because the differences are small. Fewer in a brief run.
 */
export const perTurn = ({ seconds }: { seconds: number }): number => Math.min(128, Math.ceil(seconds * 640))
/** Turns per target and second of the options, and uncounted ones before. */
const turnsPerSecond = 8
const warmUpTurns = 4

/** A way of writing: with or without the events of the history and the feed. */
interface Writer {
  name: 'service' | 'floor'
  database: Database
  /** Statements are built once per actor, so each writer needs its own. */
  actor: Actor
  measured: { create: Measurement[]; change: Measurement[] }
}

/**
 * Measures what recording its event, the history and the feed, adds to a write of a contact: the service's own
 * transactions, without HTTP, with the event and, as the floor, without it.
 */
export async function measureHistory(stage: Testbed, names: readonly string[]): Promise<Row[]> {
  const { createHistory, changeHistory } = rowNames
  const wanted = [createHistory, changeHistory].filter((name) => names.includes(name))
  if (wanted.length === 0) return []
  const { options, log } = stage
  log(`${wanted.join(', ')}…`)
  const writers = [writerOf(stage, 'service'), writerOf(stage, 'floor')] as const
  const turns = warmUpTurns + Math.ceil(options.rounds * options.seconds * turnsPerSecond)
  for (let turn = 0; turn < turns; turn++) {
    for (const writer of rotate(writers, turn)) {
      if (writer.name === 'service') delete contacts.feed
      else contacts.feed = false
      await takeTurn(writer, turn, perTurn(options))
    }
  }
  delete contacts.feed
  await Promise.all(writers.map(({ database }) => database.close()))
  const rowFor = (name: string, kind: 'create' | 'change'): Row => {
    const [service, floor] = writers.map(({ measured }) => figuresOf(measured[kind].slice(warmUpTurns)))
    if (!service || !floor) throw new Error('both writers are measured')
    return rowOf({
      name,
      connections: null,
      service,
      floor,
      driver: null,
      memory: [undefined, undefined],
      databaseMemory: undefined,
    })
  }
  return wanted.map((name) => rowFor(name, name === createHistory ? 'create' : 'change'))
}

function writerOf({ connection, measured: { organizationId, userId } }: Testbed, name: Writer['name']): Writer {
  const database = new Database({ connection, size: concurrency })
  const actor = { ...serviceActor('command', organizationId, userId), kind: 'key' as const }
  return { name, database, actor, measured: { create: [], change: [] } }
}

/** Creates contacts and changes each of them once. */
async function takeTurn(writer: Writer, turn: number, writes: number): Promise<void> {
  const ids = Array.from({ length: writes }, newId)
  writer.measured.create.push(await time(ids, (id) => write(writer, { kind: 'create', id, values: newContact(id) })))
  const values = { city: `City ${turn}`, employmentTitle: `Title ${turn}` }
  writer.measured.change.push(await time(ids, (id) => write(writer, { kind: 'update', id, values })))
}

const newContact = (id: string) => ({
  email: `history-${id}@example.com`,
  firstName: 'Ada',
  lastName: 'Lovelace',
  name: 'Ada Lovelace',
  tags: ['customer'],
  customProperties: { plan: 'team', seats: 12 },
})

const write = ({ database, actor }: Writer, change: Change): Promise<unknown> =>
  database.transaction(actor, (transaction) => writeOne(contactStore, transaction, change, { isSoleOperation: true }))

/** Runs the work for each id, with as much concurrency as there are connections. */
export async function time(ids: readonly string[], run: (id: string) => Promise<unknown>): Promise<Measurement> {
  const startedAt = performance.now()
  const waiting = [...ids]
  const workers = Array.from({ length: concurrency }, async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) await run(id)
  })
  await Promise.all(workers)
  const seconds = (performance.now() - startedAt) / 1000
  return { responses: ids.length, seconds, serviceCpu: undefined, databaseCpu: undefined }
}
