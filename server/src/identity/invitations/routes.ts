import { ApiError } from '../../platform/model/errors.ts'
import type { Caller } from '../../platform/model/caller.ts'
import { memberRoles } from '../../platform/model/scopes.ts'
import {
  type RouteResponse,
  type Route,
  type WriteRequest,
  type WriteRoute,
  writeRoute,
} from '../../platform/http/route.ts'
import { queueMail } from '../mails/store.ts'
import { writeOne } from '../../platform/records/write/store.ts'
import { RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { bodyShape } from '../../platform/records/request/body.ts'
import { assertMayChange, lockRoles, type RoleChange } from '../members/store.ts'
import { invitations } from './resource.ts'
import { assertMaySend, invitationStore, revokeLinks, sendingColumns } from './store.ts'
import type { JsonObject } from '../../platform/model/json.ts'

const group = new RouteGroup(invitationStore, '/v5/invitations')

/** Queues the mail; the returned callback sends it after the commit. */
async function send(
  { services, db }: WriteRequest,
  { id, email }: { id: string; email: string },
): Promise<Required<Pick<RouteResponse, 'afterCommit'>>> {
  await assertMaySend(db, id)
  await queueMail(db, { kind: 'invitation', recipient: email, organizationId: db.organizationId, recordId: id })
  return { afterCommit: () => services.mail.wake() }
}

/** The links of an invitation are valid only while their sender is an owner or an admin. */
function assertMayInvite({ customRoleId }: Caller): void {
  if (customRoleId !== undefined)
    throw new ApiError('insufficient_permissions', 'Only owners and admins can invite people.')
}

/** The role that an invitation gives. */
function roleChangeOf({ role, roleId }: JsonObject): RoleChange {
  const known = memberRoles.find((one) => one === role) ?? null
  return typeof roleId === 'string' ? { role: 'custom', roleId } : { role: known }
}

const create = writeRoute({
  ...group.changeRoute('create'),
  summary: 'Invite a person',
  description:
    'Sends a link to the address. An address can have one invitation; an expired one can be resent. Only an owner who has re-authenticated within the last five minutes can invite an owner.',
  body: { component: 'InvitationCreate', shape: bodyShape(invitations, 'create'), required: true },
  audited: 'invitation.created',
  errors: [429],
  async handle(request) {
    const { db, caller, body } = request
    assertMayInvite(caller)
    const change = roleChangeOf(body)
    await assertMayChange(db, caller, change)
    const written = await writeOne(invitationStore, db, { kind: 'create', values: body })
    const sending = await send(request, { id: written.id, email: String(body.email) })
    const { id } = written.after
    const { text, revision } = written
    const headers = { location: `${group.path}/${String(id)}` }
    return { status: 201, text, revision, headers, effect: { details: { ...change } }, ...sending }
  },
})

const resend: WriteRoute = {
  ...group.changeRoute('resend'),
  summary: 'Resend an invitation',
  description: 'Sends a new link, valid for as many days as the first one. Previous links stop working.',
  audited: 'invitation.resent',
  errors: [429],
  async handle(request): Promise<RouteResponse> {
    const { db, caller, params, revisions } = request
    const id = group.id(params)
    const columns = (before: { sentAt?: unknown; expiresInDays?: unknown }) =>
      sendingColumns(Number(before.expiresInDays), caller.userId)
    assertMayInvite(caller)
    // Before the invitation, in the same order as `create`: otherwise the two could deadlock on one address.
    await lockRoles(db)
    const written = await writeOne(invitationStore, db, { kind: 'update', id, values: {}, columns, revisions })
    const { after, text, revision } = written
    await assertMayChange(db, caller, roleChangeOf(after))
    await revokeLinks(db, id)
    return { status: 200, text, revision, ...(await send(request, { id, email: String(after.email) })) }
  },
}

const remove = standardRoutes(invitationStore, { path: group.path, operations: ['delete'] }).map((route) => ({
  ...route,
  audited: 'invitation.revoked' as const,
  summary: 'Withdraw an invitation',
  description: 'The mailed link stops working.',
}))

export const invitationRoutes: Route[] = [
  ...standardRoutes(invitationStore, { path: group.path, operations: ['list', 'count', 'get'] }),
  create,
  ...remove,
  resend,
]
