import type { Normalized } from '../../platform/resource/texts.ts'
import { defineResource } from '../../platform/resource/define.ts'
import { choice, flag, id, type JsonValue, text, timestamp, url } from '../../platform/resource/fields.ts'

/** What somebody becomes who joins by a proved domain: never more than that. */
export const joinRoles = ['viewer', 'member'] as const
export type JoinRole = (typeof joinRoles)[number]

/** Kept to the letter: a provider's issuer is compared, not only connected to (OpenID Connect Discovery 1.0 section 4.3). */
function readIssuer(value: JsonValue): Normalized {
  const given = String(value).trim()
  const parsed = URL.canParse(given) ? new URL(given) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password) {
    return { fault: 'must be an address that begins with https://' }
  }
  if (parsed.search || parsed.hash || given.includes('/.well-known/')) {
    return { fault: 'must be the issuer itself, without a query and without /.well-known/openid-configuration' }
  }
  return { value: given }
}

const issuer = {
  ...url({
    label: 'Issuer',
    description: 'As the provider’s metadata spell it; https, except for a host that EGRESS_ALLOW names',
    required: true,
  }),
  normalize: readIssuer,
}

/** A provider of identities (OpenID Connect) that people of the organization log in at. */
export const ssoConnections = defineResource({
  name: 'sso-connections',
  singular: 'sso-connection',
  component: 'SsoConnection',
  table: 'sso_connections',
  idPrefix: 'sso',
  softDelete: false,
  hidden: { client_secret_encrypted: 'bytea' },
  fields: {
    id: id('sso'),
    name: text({ label: 'Name', description: 'What people call it', required: true, max: 100 }),
    issuer,
    clientId: text({ label: 'Client id', description: 'As the provider gave it', required: true, max: 500 }),
    hasClientSecret: flag({
      label: 'Has a client secret',
      description: 'The secret itself is never shown',
      readOnly: true,
      nullable: false,
    }),
    defaultRole: choice(joinRoles, {
      label: 'Default role',
      description: 'Of people who join because their address is of a proved domain; null: nobody joins by themself',
    }),
    enabled: flag({ label: 'Enabled', description: 'Can people log in with it?', nullable: false, initial: true }),
    createdAt: timestamp({ label: 'Created at', readOnly: true, nullable: false, order: 'indexed' }),
    updatedAt: timestamp({ label: 'Updated at', readOnly: true, nullable: false }),
  },
})
