/** The records that the settings show, as the API returns them (openapi.json). */

export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

export interface Member {
  id: string
  person: { name: string; email: string }
  role: Role
  createdAt: string
}

export interface TeamMember {
  id: string
  person: { name: string; email: string }
  createdAt: string
}

export interface Team {
  id: string
  name: string
  isDefault: boolean
}

export interface Invitation {
  id: string
  email: string
  role: Role
  teamId: string | null
  sentAt: string
  expiresAt: string
}

export interface ApiKey {
  id: string
  name: string
  scopes: string[]
  allowedAddresses: string[]
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  lastUsedAddress: string | null
  createdAt: string
}

/** A key with its value, which the service returns once. */
export type ApiKeyWithText = ApiKey & { apiKey: string }

export interface SsoConnection {
  id: string
  name: string
  issuer: string
  clientId: string
  hasClientSecret: boolean
  defaultRole: 'viewer' | 'member' | null
  enabled: boolean
}

export interface Domain {
  id: string
  domain: string
  recordName: string
  recordValue: string
  verifiedAt: string | null
}

export interface AuditEvent {
  id: string
  action: string
  actorKind: 'user' | 'key' | 'command' | 'anonymous'
  actorId: string | null
  recordType: string | null
  recordId: string | null
  address: string | null
  requestId: string | null
  details: unknown
  createdAt: string
}

export interface Mail {
  id: string
  kind: string
  recipient: string
  subject: string | null
  status: 'queued' | 'sent' | 'kept' | 'failed' | 'dropped'
  lastError: string | null
  createdAt: string
}

export interface MailContent {
  text: string
  links: string[]
}
