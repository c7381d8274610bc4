import { recordLimit } from '../access/record-limit-store.ts'
import { parseIpNetwork } from '../access/networks.ts'
import { normalizeList, scopeList } from '../access/scope-list.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { id, reference, text, timestamp, stringList } from '../../platform/records/declare/fields.ts'
import { rotationBody } from '../../platform/records/routes/one-time-secret.ts'
import type { Normalized } from '../../platform/model/normalizers.ts'
import type { JsonValue } from '../../platform/model/json.ts'

const scopes = scopeList({
  description:
    'The key’s permissions, as listed by `GET /v5/scopes`. You can grant only scopes that you have. `contact:list:read` is short for `urn:service:contact:list:read`',
})

const allowedAddresses = {
  ...stringList({
    label: 'Allowed addresses',
    description:
      'IP addresses and networks (`203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`) from which the key can be used; if empty, from anywhere',
    max: 50,
  }),
  normalize: (value: JsonValue): Normalized =>
    normalizeList(value, (item) => {
      const read = parseIpNetwork(item)
      return 'network' in read ? read.network : read
    }),
}

const timestampPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

const expiry = timestamp({ label: 'Expires at', description: 'When the key expires; null if it never does' })

const expiresAt = {
  ...expiry,
  // A time in the future, for the documentation.
  schema: { ...expiry.schema, examples: ['2099-12-31T23:59:59.000Z'] },
  normalize(value: JsonValue): Normalized {
    const at = typeof value === 'string' && timestampPattern.test(value) ? new Date(value) : undefined
    if (!at || Number.isNaN(at.getTime()) || at.getUTCFullYear() > 9999) {
      return { error: 'expected a timestamp with a time zone, such as 2027-01-31T12:00:00Z' }
    }
    return { value: at.toISOString() }
  },
}

/** A credential for a program. The key itself is shown once, when it is created or rotated. */
export const apiKeys = defineResource({
  name: 'api-keys',
  singular: 'api-key',
  component: 'ApiKey',
  table: 'api_keys',
  isInDirectory: true,
  idPrefix: 'key',
  heading: 'Credentials for programs, and the available scopes.',
  roleGroup: 'administration',
  // Expired ones too: they can be extended.
  limit: recordLimit(500, 'revoked_at is null'),
  softDelete: false,
  hidden: { hash: 'bytea', version: 'integer' },
  fields: {
    // Ids sort by creation time.
    id: { ...id('key'), order: 'scan' },
    name: text({ label: 'Name', description: 'The key’s purpose', required: true, max: 100 }),
    scopes,
    allowedAddresses,
    expiresAt,
    revokedAt: timestamp({ label: 'Revoked at', description: 'The key has been invalid since then', readOnly: true }),
    lastUsedAt: timestamp({
      label: 'Last used at',
      description: 'Updated at most once a minute',
      readOnly: true,
    }),
    lastUsedAddress: text({ label: 'Last used from', description: 'IP address of the last use', readOnly: true }),
    createdBy: reference('usr', {
      label: 'Created by',
      description: 'The person who created it, and whom `GET /v5/me` returns',
      readOnly: true,
      nullable: false,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})

/** The body of a rotation request. */
export const keyRotationShape = rotationBody('texts')
