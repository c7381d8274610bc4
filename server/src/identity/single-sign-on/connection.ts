import type { Normalized } from '../../platform/model/normalizers.ts'
import { defineResource } from '../../platform/records/declare/define.ts'
import { choice, flag, id, text, timestamp, url } from '../../platform/records/declare/fields.ts'
import type { JsonValue } from '../../platform/model/json.ts'

/** The possible roles of people who join through a verified domain. */
export const joinRoles = ['viewer', 'member'] as const
export type JoinRole = (typeof joinRoles)[number]

/** Stored unchanged: the issuer is compared literally (OpenID Connect Discovery 1.0 section 4.3). */
function parseIssuer(value: JsonValue): Normalized {
  const given = String(value).trim()
  const parsed = URL.canParse(given) ? new URL(given) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password) {
    return { error: 'expected a URL that starts with https://' }
  }
  if (parsed.search || parsed.hash || given.includes('/.well-known/')) {
    return { error: 'expected the issuer itself, without a query and without /.well-known/openid-configuration' }
  }
  return { value: given }
}

const issuer = {
  ...url({
    label: 'Issuer',
    description:
      'Exactly as in the provider’s metadata; https, unless EGRESS_ALLOW and PLAINTEXT_HOSTS both name the host',
    required: true,
  }),
  normalize: parseIssuer,
}

/** An identity provider (OpenID Connect) through which people of the organization log in. */
export const ssoConnections = defineResource({
  name: 'sso-connections',
  singular: 'sso-connection',
  component: 'SsoConnection',
  table: 'sso_connections',
  isInDirectory: true,
  idPrefix: 'sso',
  heading: 'Identity providers (OpenID Connect) through which members log in.',
  roleGroup: 'administration',
  isSmall: true,
  softDelete: false,
  hidden: { client_secret_encrypted: 'bytea' },
  fields: {
    id: id('sso'),
    name: text({ label: 'Name', description: 'Display name', required: true, max: 100 }),
    issuer,
    clientId: text({ label: 'Client id', description: 'Client id from the provider', required: true, max: 500 }),
    hasClientSecret: flag({
      label: 'Has a client secret',
      description: 'The secret itself is never shown',
      readOnly: true,
      nullable: false,
    }),
    defaultRole: choice(joinRoles, {
      label: 'Default role',
      description: 'Role of people who join through a verified domain; null if nobody can join this way',
    }),
    enabled: flag({
      label: 'Enabled',
      description: 'Whether people can log in with it',
      nullable: false,
      initial: true,
    }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
