import type { Part } from '../../platform/http/part.ts'
import { type Services, type WriteRequest, writeRoute } from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/resource/body.ts'
import { timestamp, url } from '../../platform/model/fields.ts'
import { showId } from '../../platform/model/ids.ts'
import { changeOne, Place, standardRoutes } from '../../platform/routes/standard-routes.ts'
import { besideRecord, overlapOf, withMembers } from '../../platform/routes/shown-once.ts'
import { pushRoute } from './intake/push-route.ts'
import { importRotationShape, imports } from './resource.ts'
import { createImport, importStore, rotateTrigger, type WithSecret } from './store.ts'
import { triggerUrl } from './trigger.ts'

const place = new Place(importStore, '/v5/imports')

const secretUrl = url({
  label: 'Trigger URL',
  description: 'The URL to push leads to. It is shown only once: store it, and treat it as a secret',
  readOnly: true,
  nullable: false,
})

const importWithUrl = withMembers(imports, 'ImportWithTriggerUrl', { triggerUrl: secretUrl })

const rotatedImport = withMembers(imports, 'RotatedImport', {
  triggerUrl: secretUrl,
  previousUrlExpiresAt: timestamp({
    label: 'Previous URL expires at',
    description: 'When the previous URL expires; null if it has expired',
    readOnly: true,
  }),
})

const shownUrl = ({ origin }: Services, { written, secret }: WithSecret): string =>
  triggerUrl(`${origin}/v5`, showId(imports.idPrefix, written.id), secret)

const create = writeRoute({
  ...place.change('create'),
  summary: 'Create an import',
  description: 'Only this response contains `triggerUrl`. If you lose it, rotate it.',
  body: { component: 'ImportCreate', shape: bodyShape(imports, 'create'), required: true },
  answers: { 201: { kind: 'record', resource: importWithUrl } },
  async handle({ services, db, body }) {
    const made = await createImport(db, body)
    const { text, headers } = besideRecord(made.written, { triggerUrl: shownUrl(services, made) })
    const location = `${place.at}/${showId(imports.idPrefix, made.written.id)}`
    return { status: 201, text, headers: { ...headers, location } }
  },
})

const rotate = writeRoute({
  ...place.change('rotate'),
  summary: 'Rotate the trigger URL of an import',
  description:
    'Previous URLs stay valid for at most `overlapSeconds`, so that senders have time to switch. A URL that already expires earlier still does.',
  body: { component: 'ImportRotation', shape: importRotationShape, required: false },
  audited: 'import.rotated',
  answers: { 200: { kind: 'record', resource: rotatedImport } },
  async handle({ services, db, params, body, revisions }) {
    const rotation = { importId: place.id(params), overlapSeconds: overlapOf(body), revisions }
    const rotated = await rotateTrigger(db, rotation)
    const members = { triggerUrl: shownUrl(services, rotated), previousUrlExpiresAt: rotated.previousEndsAt }
    return { status: 200, ...besideRecord(rotated.written, members) }
  },
})

export const importPart: Part = {
  resources: [imports],
  routes: [
    ...standardRoutes(importStore, { at: place.at, operations: ['list', 'count', 'get'] }),
    create,
    ...standardRoutes(importStore, { at: place.at, operations: ['update', 'delete', 'restore'] }),
    rotate,
    {
      ...place.change('disable'),
      audited: 'import.disabled',
      summary: 'Disable an import',
      description:
        'Its trigger URL returns 404 until the import is enabled again. Earlier pushes are still processed. If the import is already disabled, nothing changes.',
      handle: (request: WriteRequest) =>
        changeOne(place, request, {
          values: {},
          columns: ({ disabledAt }) => (disabledAt === null ? { disabled_at: 'now' } : {}),
        }),
    },
    {
      ...place.change('enable'),
      audited: 'import.enabled',
      summary: 'Enable an import',
      handle: (request: WriteRequest) =>
        changeOne(place, request, {
          values: {},
          columns: ({ disabledAt }) => (disabledAt === null ? {} : { disabled_at: null }),
        }),
    },
    pushRoute,
  ],
}
