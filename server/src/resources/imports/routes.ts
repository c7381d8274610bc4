import type { Route, Services, WriteRequest, WriteRoute } from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/resource/body.ts'
import { timestamp, url } from '../../platform/resource/fields.ts'
import { showId } from '../../platform/resource/ids.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { besideRecord, overlapOf, withMembers } from '../../platform/resource/shown-once.ts'
import { pushRoute } from './push-route.ts'
import { importRotationShape, imports } from './resource.ts'
import { createImport, importStore, rotateTrigger, type WithSecret } from './store.ts'
import { triggerUrl } from './trigger.ts'

const place = new Place(importStore, '/v5/imports')

const secretUrl = url({
  label: 'Trigger URL',
  description: 'Where leads are pushed at. It is shown this once: keep it, and keep it secret',
  readOnly: true,
  nullable: false,
})

const importWithUrl = withMembers(imports, 'ImportWithTriggerUrl', { triggerUrl: secretUrl })

const rotatedImport = withMembers(imports, 'RotatedImport', {
  triggerUrl: secretUrl,
  previousUrlExpiresAt: timestamp({
    label: 'Previous URL expires at',
    description: 'The URL before is good until then; null when it has ended',
    readOnly: true,
  }),
})

const shownUrl = ({ origin }: Services, { written, secret }: WithSecret): string =>
  triggerUrl(`${origin}/v5`, showId(imports.idPrefix, written.id), secret)

const create: WriteRoute = {
  ...place.change('create'),
  summary: 'Create an import',
  description: 'The answer alone holds `triggerUrl`; whoever loses it rotates it.',
  body: { component: 'ImportCreate', shape: bodyShape(imports, 'create'), required: true },
  audited: 'import.created',
  answers: { 201: { kind: 'record', resource: importWithUrl } },
  async handle({ services, db, body }) {
    const made = await createImport(db, body)
    const { text, headers } = besideRecord(made.written, { triggerUrl: shownUrl(services, made) })
    const location = `${place.at}/${showId(imports.idPrefix, made.written.id)}`
    return { status: 201, text, headers: { ...headers, location } }
  },
}

const rotate: WriteRoute = {
  ...place.change('rotate'),
  summary: 'Give an import a new trigger URL',
  description:
    'The URLs from before stay good for `overlapSeconds` at most, so that each sender can change over; one that was to end earlier still does.',
  body: { component: 'ImportRotation', shape: importRotationShape, required: false },
  audited: 'import.rotated',
  answers: { 200: { kind: 'record', resource: rotatedImport } },
  async handle({ services, db, params, body, revisions }) {
    const rotation = { importId: place.id(params), overlapSeconds: overlapOf(body), revisions }
    const rotated = await rotateTrigger(db, rotation)
    const members = { triggerUrl: shownUrl(services, rotated), previousUrlExpiresAt: rotated.previousEndsAt }
    return { status: 200, ...besideRecord(rotated.written, members) }
  },
}

export const importRoutes: Route[] = [
  ...standardRoutes(importStore, { at: place.at, operations: ['list', 'count', 'get'] }),
  create,
  ...standardRoutes(importStore, {
    at: place.at,
    operations: ['update', 'delete', 'restore'],
    audited: { update: 'import.updated', delete: 'import.deleted', restore: 'import.restored' },
  }),
  rotate,
  {
    ...place.change('disable'),
    audited: 'import.disabled',
    summary: 'Disable an import',
    description:
      'Its trigger URL answers 404 until it is enabled again. What was pushed before is worked on. An import that is disabled already keeps its time.',
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
]
