import { serviceActor } from '../src/platform/model/caller.ts'
import { decodeId } from '../src/platform/model/ids.ts'
import type { Database } from '../src/platform/database/database.ts'
import { addEntries, type NewEntry } from '../src/inbox/entries-store.ts'
import { entryKinds, type EntryWay } from '../src/inbox/kinds.ts'
import { type SettingsChange, writeSettings } from '../src/inbox/settings-store.ts'
import type { Call, Json } from './service.ts'

/** A person in an organization, and the database. */
export interface Reader {
  database: Database
  organizationId: string
  userId: string
}

const uuid = (id: string): string => decodeId(id.slice(0, id.indexOf('_')), id) ?? id

/** Chooses these ways for each kind that has them, and a time for the digest. */
export const choose = (
  { database, organizationId, userId }: Reader,
  ways: readonly EntryWay[],
  others: SettingsChange = {},
): Promise<void> =>
  database.transaction(serviceActor('maintenance', uuid(organizationId)), (transaction) => {
    const chosen = Object.fromEntries(entryKinds.map((kind) => [kind, ways]))
    return writeSettings(transaction, uuid(userId), { ways: chosen, ...others })
  })

export async function newTask(call: Call, body: object = {}): Promise<Json> {
  const made = await call('POST', '/v5/tasks', { body: { title: 'Call Ada', ...body } })
  if (made.status !== 201) throw new Error(made.text)
  return made.body
}

let keys = 0

/** Adds an entry about the task to the person's inbox, as if somebody else had assigned it. */
export async function addEntry(
  { database, organizationId, userId }: Reader,
  task: Json,
  entry: Partial<NewEntry> = {},
): Promise<void> {
  const added: NewEntry = {
    userId: uuid(userId),
    kind: 'assigned',
    resource: 'tasks',
    recordId: uuid(task.id),
    authorId: null,
    key: `test ${(keys += 1)}`,
    ...entry,
  }
  const actor = serviceActor('maintenance', uuid(organizationId))
  const count = await database.transaction(actor, (transaction) => addEntries(transaction, [added]))
  if (count !== 1) throw new Error(`${count} entries were added`)
}
