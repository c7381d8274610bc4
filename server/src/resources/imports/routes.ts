import type { Answer, Route, Services, WriteRequest, WriteRoute } from '../../platform/http/route.ts'
import { recordTag } from '../../platform/http/etag.ts'
import { bodyShape } from '../../platform/resource/body.ts'
import type { Fields, Resource } from '../../platform/resource/define.ts'
import { timestamp, url } from '../../platform/resource/fields.ts'
import { showId } from '../../platform/resource/ids.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { pushRoute } from './push-route.ts'
import { imports } from './resource.ts'
import { overlapOf, rotationShape } from './rotation.ts'
import { createImport, importStore, rotateTrigger, type WithSecret } from './store.ts'
import { triggerUrl } from './trigger.ts'

const place = new Place(importStore, '/v5/imports')

/** The import as it is answered when it got its URL. */
const withMembers = (component: string, more: Fields): Resource => ({
  ...imports,
  component,
  fields: { ...imports.fields, ...more },
  members: [...imports.members, ...Object.keys(more)],
})

const secretUrl = url({
  label: 'Trigger URL',
  description: 'Where leads are pushed at. It is shown this once: keep it, and keep it secret',
  readOnly: true,
  nullable: false,
})

const importWithUrl = withMembers('ImportWithTriggerUrl', { triggerUrl: secretUrl })

const rotatedImport = withMembers('RotatedImport', {
  triggerUrl: secretUrl,
  previousUrlExpiresAt: timestamp({
    label: 'Previous URL expires at',
    description: 'The URL before is good until then; null when it has ended',
    readOnly: true,
  }),
})

/** The record and what is shown beside it this once; the entity tag is the record's own. */
function withUrl(
  services: Services,
  { written, secret }: WithSecret,
  more: Readonly<Record<string, string | null>> = {},
): Required<Pick<Answer, 'text' | 'headers'>> {
  const shown = triggerUrl(`${services.origin}/v5`, showId(imports.idPrefix, written.id), secret)
  const members = JSON.stringify({ triggerUrl: shown, ...more })
  return {
    text: `${written.text.slice(0, -1)},${members.slice(1)}`,
    headers: { etag: recordTag(written.revision, written.text) },
  }
}

const create: WriteRoute = {
  kind: 'write',
  method: 'POST',
  path: place.at,
  operation: place.operation('create'),
  summary: 'Create an import',
  description: 'The answer alone holds `triggerUrl`; whoever loses it rotates it.',
  tag: place.tag,
  params: {},
  scope: place.scope('create', 'write'),
  query: { kind: 'none' },
  body: { component: 'ImportCreate', shape: bodyShape(imports, 'create'), required: true },
  conditional: false,
  audited: 'import.created',
  answers: { 201: { kind: 'record', resource: importWithUrl } },
  async handle({ services, db, body }) {
    const made = await createImport(db, body)
    const { text, headers } = withUrl(services, made)
    const location = `${place.at}/${showId(imports.idPrefix, made.written.id)}`
    return { status: 201, text, headers: { ...headers, location } }
  },
}

const action = (name: string) =>
  ({
    kind: 'write',
    method: 'POST',
    path: `${place.one}/${name}`,
    operation: place.operation(name),
    tag: place.tag,
    params: place.recordParams,
    scope: place.scope(name, 'write'),
    query: { kind: 'none' },
    conditional: true,
    answers: { 200: place.record },
  }) satisfies Partial<WriteRoute>

const rotate: WriteRoute = {
  ...action('rotate'),
  summary: 'Give an import a new trigger URL',
  description:
    'The URLs from before stay good for `overlapSeconds` at most, so that each sender can change over; one that was to end earlier still does.',
  body: { component: 'ImportRotation', shape: rotationShape, required: false },
  audited: 'import.rotated',
  answers: { 200: { kind: 'record', resource: rotatedImport } },
  async handle({ services, db, params, body, revisions }) {
    const rotation = { importId: place.id(params), overlapSeconds: overlapOf(body), revisions }
    const rotated = await rotateTrigger(db, rotation)
    return { status: 200, ...withUrl(services, rotated, { previousUrlExpiresAt: rotated.previousEndsAt }) }
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
    ...action('disable'),
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
    ...action('enable'),
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
