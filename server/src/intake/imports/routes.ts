import type { Part } from '../../platform/http/part.ts'
import { type Route, type Services, type WriteRequest, writeRoute } from '../../platform/http/route.ts'
import { bodyShape } from '../../platform/records/request/body.ts'
import { timestamp, url } from '../../platform/records/declare/fields.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { dailyStatisticsRoute } from '../../platform/records/routes/daily-statistics.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { recordWithSecret, overlapOf, withSecretFields } from '../../platform/records/routes/one-time-secret.ts'
import { acceptanceRoute } from '../accept/acceptance-route.ts'
import { correctionRoute } from '../accept/correction-route.ts'
import { pushRoute } from '../accept/push-route.ts'
import { importRotationShape, imports, rowStatuses } from './resource.ts'
import { removalRoute } from '../removal/route.ts'
import { readImportStatistics, refusedKey } from './statistics-store.ts'
import { assertMayPush, createImport, importStore, rotateTrigger, type ImportWithSecret } from './store.ts'
import { triggerUrl } from './trigger.ts'

const group = new RouteGroup(importStore, '/v5/imports')

const triggerUrlField = url({
  label: 'Trigger URL',
  description: 'The URL to push leads to. It is shown only once: store it, and treat it as a secret',
  readOnly: true,
  nullable: false,
})

const importWithUrl = withSecretFields(imports, 'ImportWithTriggerUrl', { triggerUrl: triggerUrlField })

const rotatedImport = withSecretFields(imports, 'RotatedImport', {
  triggerUrl: triggerUrlField,
  previousUrlExpiresAt: timestamp({
    label: 'Previous URL expires at',
    description: 'When the previous URL expires; null if it has expired',
    readOnly: true,
  }),
})

const newTriggerUrl = ({ origin }: Services, { written, secret }: ImportWithSecret): string =>
  triggerUrl(`${origin}/v5`, encodeId(imports.idPrefix, written.id), secret)

const create = writeRoute({
  ...group.changeRoute('create'),
  summary: 'Create an import',
  description: 'Only this response contains `triggerUrl`. If you lose it, rotate it.',
  body: { component: 'ImportCreate', shape: bodyShape(imports, 'create'), required: true },
  responses: { 201: { kind: 'record', resource: importWithUrl } },
  async handle({ services, db, body }) {
    const created = await createImport(db, body)
    const { text, headers } = recordWithSecret(created.written, { triggerUrl: newTriggerUrl(services, created) })
    const location = `${group.path}/${encodeId(imports.idPrefix, created.written.id)}`
    return { status: 201, text, headers: { ...headers, location } }
  },
})

const rotate = writeRoute({
  ...group.changeRoute('rotate'),
  summary: 'Rotate the trigger URL of an import',
  description:
    'Previous URLs stay valid for at most `overlapSeconds`, so that senders have time to switch. A URL that already expires earlier still does.',
  body: { component: 'ImportRotation', shape: importRotationShape, required: false },
  audited: 'import.rotated',
  responses: { 200: { kind: 'record', resource: rotatedImport } },
  async handle({ services, db, params, body, revisions }) {
    const rotation = { importId: group.id(params), overlapSeconds: overlapOf(body), revisions }
    const rotated = await rotateTrigger(db, rotation)
    const secretValues = { triggerUrl: newTriggerUrl(services, rotated), previousUrlExpiresAt: rotated.previousEndsAt }
    return { status: 200, ...recordWithSecret(rotated.written, secretValues) }
  },
})

const statisticsRoute = dailyStatisticsRoute({
  resource: imports,
  path: `${group.path}/statistics`,
  summary: 'Count the pushes to all imports by day',
  description:
    'For charts: the rows pushed on each local day, by their current status, which has no entry if its count is 0, and the refused pushes as `REFUSED`. Without the rows of deleted imports, and without those that were purged.',
  counts: {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      [...rowStatuses, refusedKey].map((status) => [status, { type: 'integer', minimum: 1 }]),
    ),
  },
  read: readImportStatistics,
})

const onlyForEveryPush = 'Only for people who see all contacts and companies: a push can change any of them.'

/** What decides how pushes change contacts. */
const settingRoutes = standardRoutes(importStore, { path: group.path, operations: ['update', 'restore'] }).map(
  (route): Route =>
    route.kind === 'write'
      ? {
          ...route,
          description: [route.description, onlyForEveryPush].filter(Boolean).join(' '),
          async handle(request: WriteRequest) {
            assertMayPush(request.db)
            return route.handle(request)
          },
        }
      : route,
)

export const importPart: Part = {
  resources: [imports],
  routes: [
    ...standardRoutes(importStore, { path: group.path, operations: ['list', 'count', 'get'] }),
    statisticsRoute,
    create,
    ...settingRoutes,
    ...standardRoutes(importStore, { path: group.path, operations: ['delete'] }),
    rotate,
    {
      ...group.changeRoute('disable'),
      audited: 'import.disabled',
      summary: 'Disable an import',
      description:
        'Its trigger URL returns 404 until the import is enabled again. Earlier pushes are still processed. If the import is already disabled, nothing changes.',
      handle: (request: WriteRequest) =>
        changeOne(group, request, {
          values: {},
          columns: ({ disabledAt }) => (disabledAt === null ? { disabled_at: 'now' } : {}),
        }),
    },
    {
      ...group.changeRoute('enable'),
      audited: 'import.enabled',
      summary: 'Enable an import',
      description: onlyForEveryPush,
      async handle(request: WriteRequest) {
        assertMayPush(request.db)
        return changeOne(group, request, {
          values: {},
          columns: ({ disabledAt }) => (disabledAt === null ? {} : { disabled_at: null }),
        })
      },
    },
    removalRoute,
    pushRoute,
    correctionRoute,
    acceptanceRoute,
  ],
}
