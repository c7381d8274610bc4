import type { Schemas } from '../api/client.ts'

export const roles = ['owner', 'admin', 'member', 'viewer'] as const satisfies readonly Role[]
export type Role = Schemas['Member']['role']

export type Member = Schemas['Member']
export type TeamMember = Schemas['TeamMember']
export type Team = Schemas['Team']
export type Invitation = Schemas['Invitation']
export type ApiKey = Schemas['ApiKey']
export type SsoConnection = Schemas['SsoConnection']
export type Domain = Schemas['Domain']
export type MailContent = Schemas['MailContent']

/** A key with its value, which the service returns once. */
export type ApiKeyWithText = Schemas['ApiKeyWithText']

// These are only listed. A list can leave properties out (`select[]`); here, none does.
export type AuditEvent = Required<Schemas['AuditEventSelection']>
export type Mail = Required<Schemas['MailSelection']>
