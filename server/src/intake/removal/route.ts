import { assertScope } from '../../platform/http/effects/denied-scope.ts'
import { type Route, writeRoute } from '../../platform/http/route.ts'
import { flag, text } from '../../platform/records/declare/fields.ts'
import { invalidBody } from '../../platform/model/errors.ts'
import { decodeId } from '../../platform/model/ids.ts'
import { bodyShapeOf } from '../../platform/records/request/body.ts'
import { RouteGroup } from '../../platform/records/routes/standard-routes.ts'
import { contacts } from '../../crm/contacts/resource.ts'
import { importStore } from '../imports/store.ts'
import { maxCounted } from './removal-store.ts'
import { countReceived, removeReceived } from './remove.ts'
import type { JsonValue, Schema } from '../../platform/model/json.ts'

const group = new RouteGroup(importStore, '/v5/imports')

const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description })

const shown = maxCounted.toLocaleString('en')

const properties: Record<string, Schema> = {
  dryRun: { type: 'boolean', description: 'True if this was a dry run, which changes nothing.' },
  rows: count('Number of rows deleted for good.'),
  contacts: count('Number of contacts deleted; they can be restored.'),
  companies: count('Number of companies deleted; they can be restored.'),
  notes: count('Number of notes deleted; they can be restored.'),
  kept: count(
    `Number of records that the import created and that stay, because somebody else changed them or something refers to them. In a dry run, contacts and companies; in the last call, contacts, at most ${shown}; 0 in the calls before.`,
  ),
  remaining: count(
    `Number of rows left for the next call, at most ${shown}; 1 if only contacts are left, whose rows were purged.`,
  ),
  next: {
    type: ['string', 'null'],
    description:
      'What the next call sends as `after`: the contact that this one looked at last; null if it needs none.',
  },
  hasMore: {
    type: 'boolean',
    description: `True if a dry run found more than ${shown} rows or contacts. It then has counted the first of them and what they created.`,
  },
}

/** The scopes of what a call does. */
const effects = ['contact:delete:write', 'company:delete:write', 'note:delete:write']

const base = group.changeRoute('remove-received')

/** The contact (uuid) after which a call continues. Error: 422. */
function contactOf(after: JsonValue | undefined): string | undefined {
  if (after === undefined || after === null) return undefined
  const id = decodeId(contacts.idPrefix, String(after))
  if (id === undefined) throw invalidBody([{ field: 'after', message: 'is not the `next` of an answer' }])
  return id
}

/** Removes what a bad sender pushed. */
export const removalRoute: Route = writeRoute({
  ...base,
  supportsIfMatch: false,
  summary: 'Remove what an import received',
  description: `For an import whose sender pushed what nobody wants. Deletes the contacts, companies and notes that it created, except those that somebody else has changed or to which a deal, a task or a note refers, and then its rows. What it changed in other records stays, and so does a record with a hundred changes, notes or jobs. Disable the import first (423). A dry run counts what all calls would remove, of the oldest ${shown} rows and contacts. A call removes at most 200 rows and their records: repeat it, with a new Idempotency-Key each time and its \`next\` as \`after\`, until \`remaining\` is 0. Only for people who see all contacts and companies. Unless it is a dry run, the caller also needs ${effects.map((scope) => `\`${scope}\``).join(', ')}.`,
  body: {
    component: 'ImportRemoval',
    shape: bodyShapeOf({
      dryRun: flag({ label: 'Dry run', description: 'Only count. Default: false', nullable: false }),
      after: text({ label: 'After', description: 'The `next` of the call before' }),
    }),
    required: false,
  },
  audited: 'import-rows.removed',
  errors: [423],
  responses: {
    200: {
      kind: 'schema',
      component: 'ImportRemovalResult',
      schema: { type: 'object', required: Object.keys(properties), additionalProperties: false, properties },
    },
  },
  async handle({ services, db, caller, client, params, body }) {
    const importId = group.id(params)
    const dryRun = body.dryRun === true
    const after = contactOf(body.after)
    if (dryRun && after !== undefined)
      throw invalidBody([{ field: 'after', message: 'has no meaning in a dry run, which counts from the beginning' }])
    if (!dryRun) for (const scope of effects) await assertScope({ services, caller, client, route: base.path }, scope)
    const removal = dryRun ? await countReceived(db, importId) : await removeReceived(db, importId, after)
    const { rows, contacts, companies, notes } = removal
    const changes = rows + contacts + companies + notes
    const effect = dryRun || changes === 0 ? 'none' : { details: { rows, contacts, companies, notes } }
    return { status: 200, text: JSON.stringify({ dryRun, ...removal }), effect }
  },
})
