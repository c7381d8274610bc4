import { actorOf } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { ReadRoute, Route } from '../../platform/http/route.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { findRole } from '../members/store.ts'
import { isFirst } from '../organizations/store.ts'
import { openBody } from './body.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { mails } from './resource.ts'
import { mailStore, readKind, readSealedBody } from './store.ts'

const group = new RouteGroup(mailStore, '/v5/mails')

const contentSchema = {
  type: 'object',
  required: ['text', 'html', 'links'],
  additionalProperties: false,
  properties: {
    text: { type: 'string', description: 'The plain text.' },
    html: { type: 'string', description: 'The same as HTML, without external content.' },
    links: { type: 'array', items: { type: 'string', format: 'uri' }, description: 'The links it contains.' },
  },
}

const content: ReadRoute = {
  kind: 'read',
  method: 'GET',
  path: `${group.recordPath}/content`,
  operation: 'getMailContent',
  summary: 'Read the contents of a mail',
  description:
    'For owners, so that links can reach people without a mail server. Requires re-authentication within the last five minutes, because anyone who opens the link can act as the recipient. There are no contents before a mail is composed, after it was sent, if its secret was lost, or if the recipient is also in another organization. Only owners of the first organization of the service, which is the operator’s, can read invitations. The audit log records who read it.',
  tag: group.tag,
  params: group.recordParams,
  // A separate resource, which no wildcard covers.
  scope: 'mail-content:get:read',
  query: { kind: 'none' },
  responses: { 200: { kind: 'schema', component: 'MailContent', schema: contentSchema } },
  requiresRecentAuthentication: true,
  async handle({ services, caller, client, params }) {
    const id = group.id(params)
    const { organizationId } = caller
    const { address, requestId } = client
    const record = { recordType: mails.singular, recordId: encodeId(mails.idPrefix, id) }
    const isOperators = await services.database.crossTenantTransaction('log in', (db) => isFirst(db, organizationId))
    // Every read is audited: with a link in the mail, the reader can act as its recipient.
    const { text, html, links } = await services.database.transaction(caller, async (transaction) => {
      await assertOwner(transaction)
      const sealed = await readSealedBody(transaction, id)
      if (!isOperators) await assertNoInvitation(transaction, id)
      const body = openBody(services.secret, id, sealed)
      const event = { organizationId, action: 'mail.read', ...actorOf(caller), ...record, address, requestId } as const
      await recordEvent(transaction, event)
      return body
    })
    return { status: 200, text: JSON.stringify({ text, html, links }) }
  },
}

/** A key with the scope stays valid after its creator stops being an owner, but then it cannot read links of others. */
async function assertOwner(transaction: Transaction): Promise<void> {
  const { userId } = transaction.actor
  if (userId !== null && (await findRole(transaction, userId)) === 'owner') return
  throw new ApiError(
    'insufficient_permissions',
    'Only owners can read the contents of mails, and API keys only while the person who created them is an owner.',
  )
}

/**
 * The person who has the link of an invitation learns whether its address has an account, also in other organizations, and can
 * create one in another person's name. The operator of the service could do that anyway.
 */
async function assertNoInvitation(transaction: Transaction, id: string): Promise<void> {
  if ((await readKind(transaction, id)) !== 'invitation') return
  throw new ApiError(
    'insufficient_permissions',
    'Links of invitations are read only by owners of the first organization of this service. Ask its operator for the link (`rapport user invitation-link`), or to set SMTP_URL.',
  )
}

export const mailRoutes: Route[] = [
  ...standardRoutes(mailStore, { path: group.path, operations: ['list', 'count', 'get'] }),
  content,
]
