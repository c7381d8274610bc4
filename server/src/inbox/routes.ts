import { type PersonalRead, type PersonalRoute, personalRoute } from '../identity/access/personal-route.ts'
import type { Part } from '../platform/http/part.ts'
import type { Connection } from '../platform/database/database.ts'
import { covers } from '../platform/model/scopes.ts'
import { decodeId } from '../platform/model/ids.ts'
import type { JsonObject } from '../platform/model/json.ts'
import { reference } from '../platform/records/declare/fields.ts'
import { parseList } from '../platform/records/page/parse.ts'
import { readRecord } from '../platform/records/page/read.ts'
import { bodyShape, bodyShapeOf } from '../platform/records/request/body.ts'
import { closedObject } from '../platform/records/routes/daily-statistics.ts'
import { cursorScopeOf, respondWithPage } from '../platform/records/routes/list-routes.ts'
import { writeOne } from '../platform/records/write/store.ts'
import { entryKinds } from './kinds.ts'
import { entryRecords, type EntryResource } from './records.ts'
import { inboxEntries, shownEntries } from './resource.ts'
import { settingsSchema, settingsShape } from './settings.ts'
import { readSettings, type SettingsChange, writeSettings } from './settings-store.ts'
import { countUnread, entryStore, maxCounted, readUntil } from './store.ts'
import { readTitles } from './titles-store.ts'

const path = '/v5/inbox'
const tag = inboxEntries.name
const whole = { tag, params: {}, query: { kind: 'none' } } as const
const parameter = 'inboxEntryId'
const one = {
  tag,
  path: `${path}/{${parameter}}`,
  params: { [parameter]: { prefix: inboxEntries.idPrefix, resource: inboxEntries.singular } },
  query: { kind: 'none' },
  responses: { 200: { kind: 'record', resource: shownEntries } },
} as const satisfies Partial<PersonalRoute>

const listGroup = { resource: inboxEntries, parentId: () => undefined }

const list = personalRoute({
  ...whole,
  method: 'GET',
  path,
  operation: 'listInboxEntries',
  summary: 'List what concerns you',
  description: 'The entries of the person of the access token in the organization of the request, newest first.',
  query: {
    kind: 'parameters',
    parameters: {
      limit: 'Maximum number of entries, 1 to 100; 25 by default.',
      startingAfter: 'The id of the last entry of the previous page, or a cursor from `Link`.',
      endingBefore: 'The id of the first entry of this page, to go back, or a cursor from `Link`.',
      kind: `Only entries of this kind: ${entryKinds.join(', ')}.`,
      read: 'Only entries that are read (`true`) or unread (`false`).',
    },
    examples: { limit: '25', kind: 'assigned', read: 'false' },
    allowsOthers: false,
  },
  errors: [404],
  responses: { 200: { kind: 'list', resource: shownEntries } },
  async read(request) {
    const wanted = parseList(inboxEntries, request.query, cursorScopeOf(listGroup, request))
    const page = await respondWithPage(listGroup, request, wanted)
    return { ...page, text: await withTitles(request, JSON.parse(page.text ?? '[]') as JsonObject[]) }
  },
})

const get = personalRoute({
  ...one,
  method: 'GET',
  operation: 'getInboxEntry',
  summary: 'Get an entry of your inbox',
  read: (request) => respondWithEntry(request, request.params[parameter] ?? ''),
})

const update = personalRoute({
  ...one,
  method: 'PATCH',
  operation: 'updateInboxEntry',
  summary: 'Mark an entry as read or unread',
  body: { component: 'InboxEntryUpdate', shape: bodyShape(inboxEntries, 'update'), required: true },
  async write(request) {
    const entryId = request.params[parameter] ?? ''
    await writeOne(entryStore, request.db, { kind: 'update', id: entryId, values: request.body as JsonObject })
    return respondWithEntry(request, entryId)
  },
})

const countsSchema = closedObject({
  unread: { type: 'integer', minimum: 0, maximum: maxCounted, description: `At most ${maxCounted}.` },
})
const countsResponse = { 200: { kind: 'schema', component: 'InboxCounts', schema: countsSchema } } as const

const readUntilRoute = personalRoute({
  ...whole,
  method: 'POST',
  path: `${path}/read`,
  operation: 'readInboxEntries',
  summary: 'Mark all entries up to one as read',
  body: {
    component: 'InboxRead',
    shape: bodyShapeOf({
      until: reference(inboxEntries.idPrefix, {
        label: 'Until',
        description: 'This entry and all older ones become read',
        required: true,
      }),
    }),
    required: true,
  },
  errors: [404],
  responses: countsResponse,
  async write({ db, caller, body }) {
    await readUntil(db, caller.userId, decodeId(inboxEntries.idPrefix, body.until) ?? '')
    return { status: 200, text: await countsText(db, caller.userId) }
  },
})

const counts = personalRoute({
  ...whole,
  method: 'GET',
  path: `${path}/counts`,
  operation: 'countInboxEntries',
  summary: 'Count your unread entries',
  responses: countsResponse,
  read: async ({ db, caller }) => ({ status: 200, text: await countsText(db, caller.userId) }),
})

const settingsResponse = { 200: { kind: 'schema', component: 'InboxSettings', schema: settingsSchema } } as const

const getSettings = personalRoute({
  ...whole,
  method: 'GET',
  path: `${path}/settings`,
  operation: 'getInboxSettings',
  summary: 'Get how you hear of what concerns you',
  responses: settingsResponse,
  read: async ({ db, caller }) => ({ status: 200, text: JSON.stringify(await readSettings(db, caller.userId)) }),
})

const updateSettings = personalRoute({
  ...whole,
  method: 'PATCH',
  path: `${path}/settings`,
  operation: 'updateInboxSettings',
  summary: 'Change how you hear of what concerns you',
  description: 'For you alone, in this organization. Entries that exist already stay as they are.',
  body: { component: 'InboxSettingsUpdate', shape: settingsShape, required: true },
  responses: settingsResponse,
  async write({ db, caller, body }) {
    await writeSettings(db, caller.userId, body as SettingsChange)
    return { status: 200, text: JSON.stringify(await readSettings(db, caller.userId)) }
  },
})

const countsText = async (db: Connection, userId: string): Promise<string> =>
  JSON.stringify({ unread: await countUnread(db, userId) })

/** Without a revision: the title changes with the record. */
async function respondWithEntry(request: Pick<PersonalRead, 'caller' | 'db'>, entryId: string) {
  const { text } = await readRecord(request.db, inboxEntries, entryId)
  return { status: 200, text: (await withTitles(request, [JSON.parse(text) as JsonObject])).slice(1, -1) }
}

/** The entries as a JSON array, with the titles of the records that the caller sees. */
async function withTitles({ caller, db }: Pick<PersonalRead, 'caller' | 'db'>, entries: readonly JsonObject[]) {
  const named = entries.map((entry) => {
    const resource = entry.resource as EntryResource
    return { resource, recordId: decodeId(entryRecords[resource].idPrefix, String(entry.recordId)) ?? '' }
  })
  const sees = (resource: EntryResource) => covers(caller.scopes, `${entryRecords[resource].singular}:list:read`)
  const titles = await readTitles(db, { reader: caller, sees }, named)
  const shown = entries.map(({ id, kind, resource, recordId, ...others }, index) => {
    const title = titles.get(named[index]?.recordId ?? '') ?? null
    return { id, kind, resource, recordId, title, ...others }
  })
  return JSON.stringify(shown)
}

/** What concerns the person of a session. */
export const inboxPart: Part = {
  resources: [inboxEntries],
  routes: [list, readUntilRoute, counts, getSettings, updateSettings, get, update],
}
