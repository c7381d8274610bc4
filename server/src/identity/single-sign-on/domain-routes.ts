import { resolveTexts } from '../../platform/egress/resolver.ts'
import { ApiError } from '../../platform/model/errors.ts'
import { type Route, type WriteRoute, writeRoute } from '../../platform/http/route.ts'
import { createConcurrencyLimiter } from '../../platform/background/concurrency-limiter.ts'
import { bodyShape } from '../../platform/records/request/body.ts'
import { encodeId } from '../../platform/model/ids.ts'
import { notFound } from '../../platform/records/page/read.ts'
import { changeOne, RouteGroup, standardRoutes } from '../../platform/records/routes/standard-routes.ts'
import { domains } from './domain.ts'
import { checkRevision, createDomain, deleteRecord, domainStore, findDomain } from './store.ts'

const group = new RouteGroup(domainStore, '/v5/domains')

/** A lookup holds a database connection while it waits for name servers that somebody else runs. */
const lookupLimiter = createConcurrencyLimiter({
  concurrency: 2,
  queue: 8,
  waitMilliseconds: 1000,
  messages: {
    full: 'Too many domains are being verified. Try again in a moment.',
    late: 'Other domains are being verified. Try again in a moment.',
  },
})

const change = (action: string) => ({ ...group.changeRoute(action), requiresRecentAuthentication: true })

const create = writeRoute({
  ...change('create'),
  summary: 'Add a domain',
  description:
    'The response contains the TXT record to set. Once the domain is verified, people with an address in it can join through a connection that has a `defaultRole`.',
  body: { component: 'DomainCreate', shape: bodyShape(domains, 'create'), required: true },
  audited: 'domain.created',
  async handle({ db, body }) {
    const written = await createDomain(db, body)
    const location = `${group.path}/${encodeId(domains.idPrefix, written.id)}`
    return { status: 201, text: written.text, revision: written.revision, headers: { location } }
  },
})

const verify: WriteRoute = {
  ...change('verify'),
  summary: 'Verify a domain',
  description:
    'Looks up the TXT record. 423 if it does not exist yet; name servers can take hours to publish a new record.',
  audited: 'domain.verified',
  errors: [423],
  async handle(request) {
    const { db, caller, params, revisions } = request
    const claimed = await findDomain(db, group.id(params))
    if (!claimed) throw notFound(domains)
    checkRevision(revisions, claimed.revision)
    const { recordName, recordValue } = claimed
    const texts = await lookupLimiter.run(caller.organizationId, () => resolveTexts(recordName).catch(() => undefined))
    if (!texts) {
      throw new ApiError('resource_locked', `The name servers of ${claimed.domain} do not respond. Try again later.`)
    }
    if (!texts.includes(recordValue)) {
      throw new ApiError('resource_locked', `Set the TXT record ${recordName} to ${recordValue} first.`)
    }
    return changeOne(group, request, {
      values: {},
      columns: ({ verifiedAt }) => (verifiedAt === null ? { verified_at: 'now' } : {}),
    })
  },
}

const remove: WriteRoute = {
  ...change('delete'),
  summary: 'Delete a domain',
  description: 'Permanently deletes it. People who have joined through it stay.',
  audited: 'domain.deleted',
  async handle({ db, params, revisions }) {
    await deleteRecord(db, domains, { id: group.id(params), revisions })
    return { status: 204 }
  },
}

export const domainRoutes: Route[] = [
  ...standardRoutes(domainStore, { path: group.path, operations: ['list', 'count', 'get'] }),
  create,
  verify,
  remove,
]
