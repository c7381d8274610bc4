import type { Part } from '../../platform/http/part.ts'
import type { ReadRoute, Route, WriteRoute } from '../../platform/http/route.ts'
import { choice } from '../../platform/records/declare/fields.ts'
import { newId } from '../../platform/model/ids.ts'
import { bodyShapeOf } from '../../platform/records/request/body.ts'
import { parseDryRun } from '../../platform/records/request/dry-run.ts'
import { RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { checkDefinition, propertyStore, readUndeclared, updateUndeclared } from './store.ts'
import { obstacleReasons } from './report.ts'
import { undeclaredChoices } from './resource.ts'
import { maxExamples } from './stored-values-store.ts'
import type { Schema } from '../../platform/model/json.ts'

const path = '/v5/properties'
const group = new RouteGroup(propertyStore, path)

const count = { type: 'integer', minimum: 0 }

const checkSchema: Schema = {
  type: 'object',
  required: ['dryRun', 'used', 'unfit', 'duplicates', 'records'],
  additionalProperties: false,
  properties: {
    dryRun: { type: 'boolean', description: 'True: nothing was defined.' },
    used: { ...count, description: 'Number of records with a value of this key.' },
    unfit: { ...count, description: 'Number of records whose value does not fit the definition.' },
    duplicates: {
      ...count,
      description: 'If it should be unique: number of records with a value that another one has too.',
    },
    records: {
      type: 'array',
      description: `The first of these records: at most ${maxExamples} for each reason.`,
      items: {
        type: 'object',
        required: ['id', 'value', 'reason', 'message'],
        additionalProperties: false,
        properties: {
          id: { type: 'string' },
          value: {},
          reason: {
            type: 'string',
            enum: obstacleReasons,
            description:
              '`unfit`: not a value of the type. `form`: it would be stored in another form. `missing`: no record has this id. `duplicate`: another record has it too.',
          },
          message: { type: 'string' },
        },
      },
    },
  },
}

const creation = standardRoutes(propertyStore, { path, operations: ['create'] }).map((route): Route =>
  route.kind === 'write' ? withDryRun(route) : route,
)

/** Defining a property, or only finding out what prevents that. */
function withDryRun(route: WriteRoute): WriteRoute {
  return {
    ...route,
    description:
      'If records have values of this key already, all of them must fit the definition; otherwise 422 with their number and the first of them. Values are not converted: a phone number with spaces does not fit. A person who does not see all records of the resource cannot define a property (403); `dryRun` counts only the records that they see.',
    query: {
      kind: 'parameters',
      parameters: { dryRun: 'If true, defines nothing and reports the values that do not fit.' },
      examples: { dryRun: 'true' },
      allowsOthers: false,
    },
    responses: {
      ...route.responses,
      200: { kind: 'schema', component: 'PropertyCheck', schema: checkSchema },
    },
    errors: [400],
    async handle(request) {
      if (!parseDryRun(request.query)) return route.handle(request)
      const found = await checkDefinition(request.db, newId(), request.body)
      return { status: 200, text: JSON.stringify({ dryRun: true, ...found }), effect: 'none' }
    },
  }
}

const undeclaredShape = bodyShapeOf({
  contacts: choice(undeclaredChoices, { label: 'Contacts', nullable: false }),
  companies: choice(undeclaredChoices, { label: 'Companies', nullable: false }),
  deals: choice(undeclaredChoices, { label: 'Deals', nullable: false }),
})

const undeclared = { type: 'string', enum: undeclaredChoices }
const undeclaredResponse = {
  kind: 'schema',
  component: 'UndeclaredProperties',
  schema: {
    type: 'object',
    required: ['contacts', 'companies', 'deals'],
    additionalProperties: false,
    properties: { contacts: undeclared, companies: undeclared, deals: undeclared },
  },
} as const

const settings = {
  path: `${path}/undeclared`,
  tag: group.tag,
  params: {},
  query: { kind: 'none' },
  responses: { 200: undeclaredResponse },
} as const

const readSettings: ReadRoute = {
  ...settings,
  kind: 'read',
  method: 'GET',
  operation: 'getUndeclaredProperties',
  summary: 'Get what happens to custom properties without a definition',
  scope: group.scope('undeclared', 'read'),
  handle: async ({ db }) => ({ status: 200, text: JSON.stringify(await readUndeclared(db)) }),
}

const changeSettings: WriteRoute = {
  ...settings,
  kind: 'write',
  method: 'PATCH',
  operation: 'updateUndeclaredProperties',
  summary: 'Accept or refuse custom properties without a definition',
  description:
    'By default `accepted`. If they are `refused`, a new value of a key without a definition is an error, so that a typo is noticed. Records keep the values that they have.',
  scope: group.scope('undeclared', 'write'),
  body: { component: 'UndeclaredPropertiesUpdate', shape: { ...undeclaredShape, mode: 'update' }, required: true },
  supportsIfMatch: false,
  audited: 'property-settings.updated',
  async handle({ db, body }) {
    const fields = await updateUndeclared(db, body)
    const effect = fields.length === 0 ? 'none' : { fields }
    return { status: 200, text: JSON.stringify(await readUndeclared(db)), effect }
  },
}

export const propertyPart: Part = {
  resources: [propertyStore.resource],
  routes: [
    readSettings,
    changeSettings,
    ...standardRoutes(propertyStore, { path, operations: ['list', 'count', 'get'] }),
    ...creation,
    ...standardRoutes(propertyStore, { path, operations: ['update'] }).map((route) => ({
      ...route,
      description:
        'JSON Merge Patch (RFC 7396): only fields that are sent change. A choice that records have cannot be removed: 423 with their number; archive it instead.',
      errors: [423],
    })),
    ...standardRoutes(propertyStore, { path, operations: ['delete'] }).map((route) => ({
      ...route,
      description: `Records keep their values, which are then without a definition. It can be restored within ${propertyStore.resource.restorableDays} days, if the values still fit.`,
    })),
    ...standardRoutes(propertyStore, { path, operations: ['restore'] }),
  ],
}
