import type { Schemas, Whole } from '../api/client.ts'

export const roles = ['owner', 'admin', 'member', 'viewer'] as const satisfies readonly Role[]
export type Role = Schemas['Member']['role']

/** A role that the organization has defined. */
export type CustomRole = Schemas['Role']

/** What a role sees of each resource whose records have an owner. */
export type Reach = Required<CustomRole['reach']>
export type ReachNoun = keyof Reach
export const seesAll: Reach = { contact: 'all', company: 'all', deal: 'all', task: 'all', campaign: 'all' }
export const reachNouns = Object.keys(seesAll) as ReachNoun[]

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

// The application only lists these, always without `select[]`, so every property is present.
export type AuditEvent = Whole<Schemas['AuditEventSelection']>
export type Mail = Whole<Schemas['MailSelection']>
