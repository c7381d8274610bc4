import { type Route, writeRoute } from '../../../platform/http/route.ts'
import { flag, type Schema } from '../../../platform/model/fields.ts'
import { bodyShapeOf } from '../../../platform/resource/body.ts'
import { RouteGroup } from '../../../platform/routes/standard-routes.ts'
import { importStore } from '../store.ts'
import { countReceived, removeReceived } from './remove.ts'

const group = new RouteGroup(importStore, '/v5/imports')

const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description })

const properties: Record<string, Schema> = {
  dryRun: { type: 'boolean', description: 'True if this was a dry run, which changes nothing.' },
  rows: count('Number of rows deleted for good.'),
  contacts: count('Number of contacts deleted; they can be restored.'),
  companies: count('Number of companies deleted; they can be restored.'),
  notes: count('Number of notes deleted; they can be restored.'),
  kept: count(
    'Number of records that the import created and that stay, because somebody else changed them or something refers to them.',
  ),
  remaining: count('Number of rows left for the next call.'),
}

/** Removes what a bad sender pushed. */
export const removalRoute: Route = writeRoute({
  ...group.changeRoute('remove-received'),
  supportsIfMatch: false,
  summary: 'Remove what an import received',
  description:
    'For an import whose sender pushed what nobody wants. Deletes the contacts, companies and notes that it created, except those that somebody else has changed or to which a deal, a task or a note refers, and then its rows. What it changed in other records stays. Disable the import first (423). A dry run counts what all calls would remove. A call removes at most 200 records of each kind: repeat it, with a new Idempotency-Key each time, until `remaining` is 0. Only for people who see all contacts and companies.',
  body: {
    component: 'ImportRemoval',
    shape: bodyShapeOf({
      dryRun: flag({ label: 'Dry run', description: 'Only count. Default: false', nullable: false }),
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
  async handle({ db, params, body }) {
    const importId = group.id(params)
    const dryRun = body.dryRun === true
    const removal = dryRun ? await countReceived(db, importId) : await removeReceived(db, importId)
    const { rows, contacts, companies, notes } = removal
    const changes = rows + contacts + companies + notes
    const effect = dryRun || changes === 0 ? 'none' : { details: { rows, contacts, companies, notes } }
    return { status: 200, text: JSON.stringify({ dryRun, ...removal }), effect }
  },
})
