import type { Part } from '../../platform/http/part.ts'
import { type ReadRoute, writeRoute } from '../../platform/http/route.ts'
import { choice } from '../../platform/records/declare/fields.ts'
import { bodyShapeOf } from '../../platform/records/request/body.ts'
import { languages } from '../../platform/model/languages.ts'
import { fill } from './fill.ts'
import { remove } from './remove.ts'
import { beginExamples, countExamples, kinds } from './store.ts'
import type { Schema } from '../../platform/model/json.ts'

const countsSchema: Schema = {
  type: 'object',
  required: [...kinds],
  additionalProperties: false,
  properties: Object.fromEntries(kinds.map((kind) => [kind, { type: 'integer', minimum: 0 }])),
}

const removalSchema: Schema = {
  type: 'object',
  required: ['deleted', 'kept'],
  additionalProperties: false,
  properties: {
    deleted: { ...countsSchema, description: 'They can be restored like every deleted record.' },
    kept: {
      ...countsSchema,
      description: 'Records that somebody has changed, or to which other records refer. They are no longer examples.',
    },
  },
}

const base = { path: '/v5/example-data', tag: 'example data', params: {}, query: { kind: 'none' } } as const

const get: ReadRoute = {
  ...base,
  kind: 'read',
  method: 'GET',
  operation: 'getExampleData',
  summary: 'Count the example data',
  scope: 'example-data:get:read',
  responses: { 200: { kind: 'schema', component: 'ExampleData', schema: countsSchema } },
  handle: async ({ db }) => ({ status: 200, text: JSON.stringify(await countExamples(db)) }),
}

const fillShape = bodyShapeOf({
  language: choice(languages, { label: 'Language', description: 'Of titles and notes. Default: `en`' }),
})

const create = writeRoute({
  ...base,
  kind: 'write',
  method: 'POST',
  operation: 'createExampleData',
  summary: 'Fill the organization with example data',
  description:
    'Creates about thirty fictional contacts with companies, deals, tasks and notes, for trying things out. If there are example data already, nothing changes.',
  scope: 'example-data:create:write',
  supportsIfMatch: false,
  audited: 'example-data.created',
  body: { component: 'ExampleDataCreate', shape: fillShape, required: false },
  responses: {
    200: { kind: 'schema', component: 'ExampleData', schema: countsSchema },
    201: { kind: 'schema', component: 'ExampleData', schema: countsSchema },
  },
  async handle({ db, body }) {
    const isNew = await beginExamples(db)
    if (isNew) await fill(db, languages.find((one) => one === body.language) ?? 'en')
    const text = JSON.stringify(await countExamples(db))
    return isNew ? { status: 201, text } : { status: 200, text, effect: 'none' }
  },
})

const erase = writeRoute({
  ...base,
  kind: 'write',
  method: 'DELETE',
  operation: 'deleteExampleData',
  summary: 'Delete the example data',
  description:
    'Deletes the records that `POST` created, and nothing else. Those that somebody has changed are kept, and those to which other records refer, such as a task that a person added.',
  scope: 'example-data:delete:write',
  supportsIfMatch: false,
  audited: 'example-data.deleted',
  responses: { 200: { kind: 'schema', component: 'ExampleDataRemoval', schema: removalSchema } },
  handle: async ({ db }) => ({ status: 200, text: JSON.stringify(await remove(db)) }),
})

export const exampleDataPart: Part = {
  routes: [get, create, erase],
  headings: { 'example data': 'Fictional records for trying things out, which can be removed again.' },
  roleGroups: { 'example-data': 'administration' },
}
