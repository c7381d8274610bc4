import { roles } from '../../platform/access/scopes.ts'
import type { Answer, Route, WriteRequest, WriteRoute } from '../../platform/http/route.ts'
import { queueMail } from '../../platform/mail/queue-store.ts'
import { Place, standardRoutes, writeOne } from '../../platform/resource/routes.ts'
import { bodyShape } from '../../platform/resource/body.ts'
import { assertMayChange, holdRoles } from '../members/store.ts'
import { invitations } from './resource.ts'
import { assertMaySend, invitationStore, revokeLinks, sendingColumns } from './store.ts'

const place = new Place(invitationStore, '/v5/invitations')

/** The link is made and sent once the transaction is over: what the answer does then is given. */
async function send(
  { services, db }: WriteRequest,
  { id, email }: { id: string; email: string },
): Promise<Required<Pick<Answer, 'onceCommitted'>>> {
  await assertMaySend(db, id)
  await queueMail(db, { kind: 'invitation', recipient: email, organizationId: db.organizationId, recordId: id })
  return { onceCommitted: () => services.mail.wake() }
}

const create: WriteRoute = {
  ...place.change('create'),
  summary: 'Invite a person',
  description:
    'A link is sent to the address. There is one invitation for each address; one whose time is over can be sent again. To invite an owner takes an owner who has proved who they are within the last five minutes.',
  body: { component: 'InvitationCreate', shape: bodyShape(invitations, 'create'), required: true },
  audited: 'invitation.created',
  errors: [429],
  async handle(request) {
    const { db, caller, body } = request
    const role = roles.find((one) => one === body.role) ?? null
    await assertMayChange(db, caller, { role })
    const written = await writeOne(invitationStore, db, { kind: 'create', values: body })
    const sending = await send(request, { id: written.id, email: String(body.email) })
    const { id } = written.after
    const { text, revision } = written
    const headers = { location: `${place.at}/${String(id)}` }
    return { status: 201, text, revision, headers, effect: { details: { role } }, ...sending }
  },
}

const resend: WriteRoute = {
  ...place.change('resend'),
  summary: 'Send an invitation again',
  description: 'With a new link, good for as many days as the first one; the one before is good no more.',
  audited: 'invitation.resent',
  errors: [429],
  async handle(request): Promise<Answer> {
    const { db, caller, params, revisions } = request
    const id = place.id(params)
    const columns = (before: { sentAt?: unknown; expiresInDays?: unknown }) =>
      sendingColumns(Number(before.expiresInDays), caller.userId)
    // Before the invitation, as in `create`: the two would wait for each other when they are about one address.
    await holdRoles(db)
    const written = await writeOne(invitationStore, db, { kind: 'update', id, values: {}, columns, revisions })
    const { after, text, revision } = written
    const role = roles.find((one) => one === after.role) ?? null
    await assertMayChange(db, caller, { role })
    await revokeLinks(db, id)
    return { status: 200, text, revision, ...(await send(request, { id, email: String(after.email) })) }
  },
}

const remove = standardRoutes(invitationStore, {
  at: place.at,
  operations: ['delete'],
  audited: { delete: 'invitation.revoked' },
}).map((route) => ({
  ...route,
  summary: 'Take an invitation back',
  description: 'The link that was sent is good no more.',
}))

export const invitationRoutes: Route[] = [
  ...standardRoutes(invitationStore, { at: place.at, operations: ['list', 'count', 'get'] }),
  create,
  ...remove,
  resend,
]
