import { assertFresh } from '../../platform/access/fresh.ts'
import { actorOf } from '../../platform/audit/actor.ts'
import { recordEvent } from '../../platform/audit/store.ts'
import type { ReadRoute, Route } from '../../platform/http/route.ts'
import { openBody } from '../../platform/mail/body.ts'
import { showId } from '../../platform/resource/ids.ts'
import { Place, standardRoutes } from '../../platform/resource/routes.ts'
import { mails } from './resource.ts'
import { mailStore, readSealedBody } from './store.ts'

const place = new Place(mailStore, '/v5/mails')

const contentSchema = {
  type: 'object',
  required: ['text', 'html', 'links'],
  additionalProperties: false,
  properties: {
    text: { type: 'string', description: 'As plain text.' },
    html: { type: 'string', description: 'The same as a page of HTML, without anything that is fetched.' },
    links: { type: 'array', items: { type: 'string', format: 'uri' }, description: 'Where its links lead.' },
  },
}

const content: ReadRoute = {
  kind: 'read',
  method: 'GET',
  path: `${place.one}/content`,
  operation: 'getMailContent',
  summary: 'Read what a mail says',
  description:
    'For owners, so that links reach people although there is no mail server. It needs a proof of the last five minutes, for whoever opens such a link may become the person it was made for. There is no content before a mail is composed, once it was sent, after the secret was lost that it was encrypted under, or when the person is not in this organization alone. The audit log tells who read it.',
  tag: place.tag,
  params: place.recordParams,
  // A resource of its own, which no wildcard covers.
  scope: 'mail-content:get:read',
  query: { kind: 'none' },
  answers: { 200: { kind: 'schema', component: 'MailContent', schema: contentSchema } },
  async handle({ services, caller, client, params }) {
    await assertFresh(services, caller)
    const id = place.id(params)
    const { organizationId } = caller
    const { address, requestId } = client
    const record = { recordType: mails.singular, recordId: showId(mails.idPrefix, id) }
    // Nobody reads it without a trace: the reader may become the person whom a link in it is for.
    const { text, html, links } = await services.database.transaction(caller, async (transaction) => {
      const sealed = await readSealedBody(transaction, id)
      const body = openBody(services.secret, id, sealed)
      const event = { organizationId, action: 'mail.read', ...actorOf(caller), ...record, address, requestId } as const
      await recordEvent(transaction, event)
      return body
    })
    return { status: 200, text: JSON.stringify({ text, html, links }) }
  },
}

export const mailRoutes: Route[] = [
  ...standardRoutes(mailStore, { at: place.at, operations: ['list', 'count', 'get'] }),
  content,
]
