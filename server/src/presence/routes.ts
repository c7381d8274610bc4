import { personalRoute } from '../identity/access/personal-route.ts'
import type { Part } from '../platform/http/part.ts'
import type { Route } from '../platform/http/route.ts'
import { invalidBody } from '../platform/model/errors.ts'
import { decodeId } from '../platform/model/ids.ts'
import { covers } from '../platform/model/scopes.ts'
import { isInFeed, type Resource } from '../platform/records/declare/define.ts'
import { stringList, text } from '../platform/records/declare/fields.ts'
import { bodyShapeOf } from '../platform/records/request/body.ts'
import { findReached } from './reach-store.ts'
import { keyOf, type Place, storePresence } from './store.ts'

/** More than what tabs of a browser usually show. */
const maxRecords = 50

const shape = bodyShapeOf({
  tab: text({
    label: 'Tab',
    description: 'A name that the client chooses: its next request with the same name replaces this one',
    nullable: false,
    required: true,
    max: 64,
  }),
  recordIds: stringList({
    label: 'Open records',
    description: 'The records that are open now; none to leave',
    count: maxRecords,
  }),
  editedIds: stringList({
    label: 'Edited records',
    description: 'Those of them in which something is being changed that is not stored yet',
    count: maxRecords,
  }),
})

/** `resources`: all of them; those in the feed can be open. */
export const presencePart = (resources: () => readonly Resource[]): Part => ({
  routes: [signRoute(() => resources().filter(isInFeed))],
  headings: { presence: 'Who else has a record open.' },
})

const signRoute = (followed: () => readonly Resource[]): Route =>
  personalRoute({
    method: 'POST',
    path: '/v5/presence',
    operation: 'signPresence',
    summary: 'Report which records are open',
    description:
      'For applications in which a person has logged in. Others get it from the stream of events, as far as they may see the records. Repeat it every 15 seconds: after 40 seconds, and when the session ends, the person is no longer shown. Records that do not exist or are out of reach are ignored.',
    tag: 'presence',
    params: {},
    query: { kind: 'none' },
    body: { component: 'PresenceSign', shape, required: true },
    responses: { 204: { kind: 'none' } },
    async write({ db, caller, body }) {
      const { tab } = body
      const places = placesOf(body, followed())
      const visible = followed().filter(({ singular }) => covers(caller.scopes, `${singular}:list:read`))
      const reached = await findReached(db, visible, places)
      const { credentialId: sessionId, userId } = caller
      await storePresence(db, { sessionId, userId, tab, places: places.filter((place) => reached.has(keyOf(place))) })
      return { status: 204 }
    },
  })

/** Errors: 422 for what is not the id of a record. */
function placesOf(
  { recordIds = [], editedIds = [] }: { recordIds?: readonly string[]; editedIds?: readonly string[] },
  followed: readonly Resource[],
): Place[] {
  return recordIds.map((shown, index) => {
    for (const { singular, idPrefix } of followed) {
      const id = decodeId(idPrefix, shown)
      if (id !== undefined) return { resource: singular, id, isEditing: editedIds.includes(shown) }
    }
    throw invalidBody([
      { field: 'recordIds', message: `expected ids of records in the feed; number ${index + 1} is not one` },
    ])
  })
}
