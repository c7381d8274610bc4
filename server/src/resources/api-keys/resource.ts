import { readNetwork } from '../../platform/access/networks.ts'
import { parseScope } from '../../platform/access/scopes.ts'
import { defineResource } from '../../platform/resource/define.ts'
import { id, type JsonValue, reference, text, timestamp, words } from '../../platform/resource/fields.ts'
import { rotationShape } from '../../platform/resource/shown-once.ts'
import type { Normalized } from '../../platform/resource/texts.ts'

/** Each word of a list in its usual form, without repetitions; the first fault, with the word that has it. */
function normalizeWords(value: JsonValue, read: (word: string) => string | { fault: string }): Normalized {
  const found = (Array.isArray(value) ? value : []).map((word) => ({ word, is: read(String(word)) }))
  for (const { word, is } of found) {
    if (typeof is !== 'string') return { fault: `"${String(word).slice(0, 100)}" ${is.fault}` }
  }
  return { value: [...new Set(found.map(({ is }) => String(is)))] }
}

const scopeForm = {
  fault: 'is not a scope: GET /v5/scopes lists them, and the wildcards, such as urn:service:contact:*:read',
}

const listOfScopes = words({
  label: 'Scopes',
  description:
    'What it may do, in the words of `GET /v5/scopes`; nothing that whoever gives them may not do. `contact:list:read` is taken for `urn:service:contact:list:read`',
  required: true,
  max: 200,
})

const scopes = {
  ...listOfScopes,
  schema: { ...listOfScopes.schema, examples: [['urn:service:contact:list:read']] },
  normalize: (value: JsonValue): Normalized =>
    Array.isArray(value) && value.length === 0
      ? { fault: 'must name at least one scope' }
      : normalizeWords(value, (word) => parseScope(word) ?? scopeForm),
}

const allowedAddresses = {
  ...words({
    label: 'Allowed addresses',
    description:
      'IP addresses and networks (`203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`) that it is good from; from everywhere when there are none',
    max: 50,
  }),
  normalize: (value: JsonValue): Normalized =>
    normalizeWords(value, (word) => {
      const read = readNetwork(word)
      return 'network' in read ? read.network : read
    }),
}

const instantForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

const end = timestamp({ label: 'Expires at', description: 'Last moment that it is good; never ends when null' })

const expiresAt = {
  ...end,
  // One that is still to come, for the documentation.
  schema: { ...end.schema, examples: ['2099-12-31T23:59:59.000Z'] },
  normalize(value: JsonValue): Normalized {
    const at = typeof value === 'string' && instantForm.test(value) ? new Date(value) : undefined
    if (!at || Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9999) {
      return { fault: 'must be a moment with its zone, such as 2027-01-31T12:00:00Z' }
    }
    return { value: at.toISOString() }
  },
}

/** A credential for a program: the text itself is shown once, when it is made or rotated. */
export const apiKeys = defineResource({
  name: 'api-keys',
  singular: 'api-key',
  component: 'ApiKey',
  table: 'api_keys',
  idPrefix: 'key',
  softDelete: false,
  hidden: { hash: 'bytea', version: 'integer' },
  fields: {
    // Ids are in the order of creation.
    id: { ...id('key'), order: 'scan' },
    name: text({ label: 'Name', description: 'What it is for, to tell it from others', required: true, max: 100 }),
    scopes,
    allowedAddresses,
    expiresAt,
    revokedAt: timestamp({ label: 'Revoked at', description: 'It is good for nothing since then', readOnly: true }),
    lastUsedAt: timestamp({
      label: 'Last used at',
      description: 'Written at most once a minute',
      readOnly: true,
    }),
    lastUsedAddress: text({ label: 'Last used from', description: 'IP address of that use', readOnly: true }),
    createdBy: reference('usr', {
      label: 'Created by',
      description: 'The person in whose name it was made, and whom `GET /v5/me` shows',
      readOnly: true,
      nullable: false,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** What a rotation is asked for with. */
export const keyRotationShape = rotationShape('texts')
