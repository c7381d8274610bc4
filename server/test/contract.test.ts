import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { headings, routes } from '../src/app.ts'
import { type OpenApi, openapi } from '../src/platform/openapi/openapi.ts'
import { contractFingerprint, version } from '../src/platform/http/protocol/version.ts'
import { fingerprintOf } from './contract-fingerprint.ts'
import type { Json } from './service.ts'

const guide = readFileSync(new URL('../../docs/guides/api-versions.md', import.meta.url), 'utf8')
const dates = [...guide.matchAll(/^## (\S+)$/gm)].map(([, date = '']) => date)

test('the contract has changed only together with its date, its list of changes and its fingerprint', () => {
  const fingerprint = fingerprintOf(openapi(routes, headings))
  const advice = `The contract has changed: its fingerprint is now '${fingerprint}'.
1. In server/src/platform/http/protocol/version.ts, set \`version\` to today's date, unless that date is not released yet.
2. In docs/guides/api-versions.md, list below that date what changed for callers.
3. In version.ts: export const contractFingerprint = '${fingerprint}'`
  expect(contractFingerprint, advice).toBe(fingerprint)
})

test('the newest heading of the list of versions is the current version, and the dates descend', () => {
  expect(dates[0]).toBe(version)
  expect(dates.filter((date) => !/^\d{4}-\d{2}-\d{2}$/.test(date))).toEqual([])
  expect(dates).toEqual([...new Set(dates)].sort().reverse())
})

const small = (): OpenApi => ({
  ...openapi([], {}),
  paths: {
    '/v5/things': {
      get: { operationId: 'listThings', tags: [], summary: 'List', parameters: [], responses: {}, security: [] },
    },
  },
  components: {
    schemas: { Thing: { type: 'object', description: 'A thing.', properties: { title: { type: 'string' } } } },
    parameters: { limit: { name: 'limit', in: 'query', schema: { type: 'integer', examples: [25] } } },
    headers: {},
    responses: { Count: { description: 'Success.', content: { 'application/json': { schema: { type: 'object' } } } } },
  },
})

test('texts, examples and the order of declarations leave the fingerprint as it is; everything else changes it', () => {
  const fingerprint = fingerprintOf(small())
  const changed = (change: (document: Json) => void): string => {
    const document = small()
    change(document)
    return fingerprintOf(document)
  }
  const sameContract: ((document: Json) => void)[] = [
    ({ components }) => (components.schemas.Thing.description = 'Another text.'),
    ({ components }) => (components.parameters.limit.schema.examples = [50]),
    ({ components }) => (components.responses.Count.description = 'Done.'),
    ({ paths }) => (paths['/v5/things'].get.summary = 'Get all'),
    ({ components }) =>
      (components.schemas.Thing = Object.fromEntries(Object.entries(components.schemas.Thing).reverse())),
  ]
  for (const change of sameContract) expect(changed(change), String(change)).toBe(fingerprint)
  const otherContracts: ((document: Json) => void)[] = [
    ({ components }) => delete components.schemas.Thing.properties.title,
    ({ components }) => (components.schemas.Thing.properties.title.type = 'integer'),
    ({ components }) => (components.schemas.Thing.properties.description = { type: 'string' }),
    ({ components }) => (components.parameters.limit.name = 'size'),
    ({ components }) => delete components.responses.Count.content,
    ({ paths }) => (paths['/v5/things'].get.operationId = 'getThings'),
    ({ paths }) => (paths['/v5/things'].post = paths['/v5/things'].get),
    (document) => (document.paths = { '/v5/items': document.paths['/v5/things'] }),
  ]
  const fingerprints = otherContracts.map(changed)
  expect(new Set([fingerprint, ...fingerprints]).size).toBe(otherContracts.length + 1)
})
