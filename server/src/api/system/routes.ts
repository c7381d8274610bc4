import { ApiError } from '../../platform/model/errors.ts'
import { version as apiVersion } from '../../platform/http/protocol/version.ts'
import type { Part } from '../../platform/http/part.ts'
import type { ReadRoute } from '../../platform/http/route.ts'
import type { SystemFinding } from './installation.ts'
import { isFirstOrganization, readDatabaseState } from './store.ts'
import type { Schema } from '../../platform/model/json.ts'

const objectOf = (properties: Record<string, Schema>): Schema => ({
  type: 'object',
  required: Object.keys(properties),
  additionalProperties: false,
  properties,
})

const text = { type: 'string' }
const nullableText = { type: ['string', 'null'] }
const time = { type: 'string', format: 'date-time' }

const systemSchema = objectOf({
  version: { ...text, description: 'Version of Rapport.' },
  apiVersion: { ...text, description: 'Version of the API, as in the `Version` header.' },
  node: { ...text, description: 'Version of Node.' },
  database: objectOf({
    version: { ...text, description: 'Version of PostgreSQL.' },
    sizeBytes: { type: 'integer', minimum: 0 },
    kind: { type: 'string', enum: ['embedded', 'external'] },
  }),
  startedAt: { ...time, description: 'When the service was started.' },
  backup: objectOf({
    lastAt: {
      ...time,
      type: ['string', 'null'],
      description: 'Time of the latest snapshot of `rapport backup`; null if there is none.',
    },
    folder: { ...nullableText, description: 'Its folder on the machine; null for standard output.' },
  }),
  smtp: { type: 'boolean', description: 'Whether mails are sent. Otherwise owners read them at `/v5/mails`.' },
  reasoning: objectOf({
    engine: { type: 'string', enum: ['rules', 'model'], description: 'What analyses notes.' },
    model: { ...nullableText, description: 'The name of the model; null for the rules.' },
  }),
  findings: {
    type: 'array',
    description: 'The checks of `rapport doctor`.',
    items: objectOf({
      level: { type: 'string', enum: ['ok', 'warning', 'error'] },
      name: text,
      message: text,
      advice: { ...nullableText, description: 'What to do about it.' },
    }),
  },
})

const stillRunning: SystemFinding = {
  level: 'warning',
  name: 'checks',
  message: 'the checks take longer than usual and are still running',
  advice: 'Repeat the request in a few seconds, or run `rapport doctor` on the machine.',
}

const system: ReadRoute = {
  kind: 'read',
  method: 'GET',
  path: '/v5/system',
  operation: 'getSystem',
  summary: 'Get the state of this installation',
  description:
    'For the operator: only owners of the first organization of the installation, and keys that they gave the scope, can read it. Other organizations get 403. Results are at most ten seconds old.',
  tag: 'system',
  params: {},
  // No wildcard covers it: it describes the machine, not the organization.
  scope: 'system:get:read',
  query: { kind: 'none' },
  responses: { 200: { kind: 'schema', component: 'System', schema: systemSchema } },
  async handle({ services, db }) {
    if (!(await isFirstOrganization(db))) {
      throw new ApiError(
        'insufficient_permissions',
        'Only owners of the first organization of this installation can read its state.',
      )
    }
    const { version, startedAt, databaseKind, hasMailServer, reasoningModel: model = null } = services.installation
    const { backup, ...database } = await readDatabaseState(services.database)
    const state = {
      version,
      apiVersion,
      node: process.versions.node,
      database: { ...database, kind: databaseKind },
      startedAt: startedAt.toISOString(),
      backup,
      smtp: hasMailServer,
      reasoning: { engine: model === null ? 'rules' : 'model', model },
      findings: (await services.installation.findings()) ?? [stillRunning],
    }
    return { status: 200, text: JSON.stringify(state) }
  },
}

export const systemPart: Part = {
  routes: [system],
  headings: { system: 'The state of the installation, for its operator.' },
  roleGroups: { system: 'administration' },
}
