import type { Command } from 'commander'
import { createOneTimeToken } from '../identity/access/one-time-token-store.ts'
import { invitations } from '../identity/invitations/resource.ts'
import { findOpenInvitation, invitationStore, removeInvitationsTo } from '../identity/invitations/store.ts'
import { members } from '../identity/members/resource.ts'
import { findRole, lockRoles, memberStore } from '../identity/members/store.ts'
import { recordCommand } from '../platform/audit/store.ts'
import type { CrossTenantConnection } from '../platform/database/database.ts'
import { serviceActor } from '../platform/model/caller.ts'
import { decodeId, encodeId } from '../platform/model/ids.ts'
import { bodyShape, parseBody } from '../platform/records/request/body.ts'
import { writeOne } from '../platform/records/write/store.ts'
import { addressesOf } from './addresses.ts'
import { configuration, Failure, printMessage, printResult, withExample } from './command.ts'
import { findAnyOrganization } from './find-organization.ts'
import { type Rapport, withRapport } from './open.ts'
import { findPerson, personCommand, type PersonOptions } from './person-command.ts'

interface OwnerOptions extends PersonOptions {
  organization: string
}

const inOrganization = (command: Command): Command =>
  command.requiredOption('--organization <id or name>', 'id, slug or name of the organization')

export const promoteCommand = () =>
  withExample(
    inOrganization(
      personCommand('promote', 'Make a member an owner of their organization, for example if its owners have left.'),
    ).action(promote),
    '$ rapport user promote --email ada@example.com --organization "Your company"',
  )

const promote = (options: OwnerOptions): Promise<void> =>
  withOrganization(options, async ({ database }, organization) => {
    const { id, email } = await findPerson(database, options.email)
    await database.transaction(serviceActor('command', organization.id), async (transaction) => {
      await lockRoles(transaction)
      const role = await findRole(transaction, id)
      if (role === undefined) throw new Failure(`${email} is not a member of ${organization.name}. Use invite-owner.`)
      if (role === 'owner') throw new Failure(`${email} is already an owner of ${organization.name}.`)
      await writeOne(memberStore, transaction, { kind: 'update', id, values: { role: 'owner' } })
      const record = { recordType: members.singular, recordId: encodeId(members.idPrefix, id) }
      await recordCommand(transaction, organization.id, 'member.updated', { ...record, details: { role: 'owner' } })
    })
    return { result: { userId: encodeId('usr', id) }, message: `${email} is now an owner of ${organization.name}.` }
  })

export const inviteOwnerCommand = () =>
  withExample(
    inOrganization(
      personCommand(
        'invite-owner',
        'Print a link that makes the person with an address an owner. It replaces earlier invitations of that address, works once, and expires after seven days.',
      ),
    ).action(inviteOwner),
    '$ rapport user invite-owner --email ada@example.com --organization "Your company"',
  )

const inviteOwner = (options: OwnerOptions): Promise<void> =>
  withOrganization(options, async (rapport, { id: organizationId, name }) => {
    const { authUrl } = await addressesOf(rapport)
    const email = options.email.trim()
    const values = parseBody(bodyShape(invitations, 'create'), { email, role: 'owner' })
    const invitation = await rapport.database.transaction(
      serviceActor('command', organizationId),
      async (transaction) => {
        await lockRoles(transaction)
        await removeInvitationsTo(transaction, email)
        const { after } = await writeOne(invitationStore, transaction, { kind: 'create', values })
        const recordId = String(after.id)
        const record = { recordType: invitations.singular, recordId, details: { role: 'owner' } }
        await recordCommand(transaction, organizationId, 'invitation.created', record)
        return { recordId, expiresAt: String(after.expiresAt) }
      },
    )
    const url = await rapport.database.crossTenantTransaction('manage an account', (db) =>
      newInvitationLink(db, { ...invitation, email, organizationId, authUrl }),
    )
    const message = `${email} becomes an owner of ${name} with this link, until ${invitation.expiresAt}. Give it to nobody else:\n\n  ${url}`
    return { result: { invitationId: invitation.recordId, url, expiresAt: invitation.expiresAt }, message }
  })

export const invitationLinkCommand = () =>
  withExample(
    inOrganization(
      personCommand(
        'invitation-link',
        'Print a link for an open invitation, for a service without a mail server. It works once, and as long as the invitation.',
      ),
    ).action(printInvitationLink),
    '$ rapport user invitation-link --email ada@example.com --organization "Your company"',
  )

const printInvitationLink = (options: OwnerOptions): Promise<void> =>
  withOrganization(options, async (rapport, { id: organizationId, name }) => {
    const { authUrl } = await addressesOf(rapport)
    const email = options.email.trim()
    const found = await rapport.database.transaction(serviceActor('command', organizationId), async (transaction) => {
      const invitation = await findOpenInvitation(transaction, email)
      if (!invitation) throw new Failure(`${name} has no open invitation for ${email}.`)
      const record = { recordType: invitations.singular, recordId: invitation.recordId }
      await recordCommand(transaction, organizationId, 'invitation.resent', record)
      return invitation
    })
    const url = await rapport.database.crossTenantTransaction('manage an account', (db) =>
      newInvitationLink(db, { ...found, email, organizationId, authUrl }),
    )
    const message = `${email} joins ${name} with this link, until ${found.expiresAt}. Give it to nobody else:\n\n  ${url}`
    return { result: { invitationId: found.recordId, url, expiresAt: found.expiresAt }, message }
  })

interface LinkedInvitation {
  /** The public id. */
  recordId: string
  expiresAt: string
  email: string
  /** A uuid. */
  organizationId: string
  authUrl: string
}

async function newInvitationLink(
  db: CrossTenantConnection,
  { recordId, expiresAt, email, organizationId, authUrl }: LinkedInvitation,
): Promise<string> {
  const lifetimeSeconds = Math.floor((Date.parse(expiresAt) - Date.now()) / 1000)
  const id = decodeId(invitations.idPrefix, recordId) ?? null
  const token = await createOneTimeToken(db, {
    purpose: 'invitation',
    email,
    organizationId,
    recordId: id,
    lifetimeSeconds,
  })
  return `${authUrl}/account#invitation=${token}`
}

async function withOrganization(
  { organization, json }: OwnerOptions,
  work: (
    rapport: Rapport,
    found: { id: string; name: string },
  ) => Promise<{ result: Record<string, string>; message: string }>,
): Promise<void> {
  const options = { config: configuration(), purpose: 'rapport user', log: printMessage } as const
  const { result, message } = await withRapport(options, async (rapport) => {
    const found = await findAnyOrganization(rapport.database, organization)
    return work(rapport, found)
  })
  printResult(json ? JSON.stringify(result) : message)
}
