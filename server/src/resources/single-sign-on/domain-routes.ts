import { textsOf } from '../../platform/egress/names.ts'
import { ApiError } from '../../platform/http/errors.ts'
import type { Route, WriteRoute } from '../../platform/http/route.ts'
import { createGate } from '../../platform/query/gate.ts'
import { bodyShape } from '../../platform/resource/body.ts'
import { showId } from '../../platform/resource/ids.ts'
import { notFound } from '../../platform/resource/read.ts'
import { changeOne, Place, standardRoutes } from '../../platform/resource/routes.ts'
import { domains } from './domain.ts'
import { checkRevision, createDomain, deleteRecord, domainStore, findDomain } from './store.ts'

const place = new Place(domainStore, '/v5/domains')

/** A look-up holds a connection to the database while name servers that somebody chose take their time. */
const lookUps = createGate({
  concurrency: 2,
  queue: 8,
  waitMilliseconds: 1000,
  refusals: {
    full: 'Too many domains are being verified. Try again in a moment.',
    late: 'Other domains are being verified. Try again in a moment.',
  },
})

const change = (action: string) => ({ ...place.change(action), fresh: true })

const create: WriteRoute = {
  ...change('create'),
  summary: 'Claim a domain',
  description:
    'The answer tells the TXT record to set. Once it is verified, people with an address of the domain join with a connection that has a `defaultRole`.',
  body: { component: 'DomainCreate', shape: bodyShape(domains, 'create'), required: true },
  audited: 'domain.created',
  async handle({ db, body }) {
    const written = await createDomain(db, body)
    const location = `${place.at}/${showId(domains.idPrefix, written.id)}`
    return { status: 201, text: written.text, revision: written.revision, headers: { location } }
  },
}

const verify: WriteRoute = {
  ...change('verify'),
  summary: 'Verify a domain',
  description: 'Looks the TXT record up. 423 while it is not there: name servers may take hours to tell of a new one.',
  audited: 'domain.verified',
  errors: [423],
  async handle(request) {
    const { db, caller, params, revisions } = request
    const claimed = await findDomain(db, place.id(params))
    if (!claimed) throw notFound(domains)
    checkRevision(revisions, claimed.revision)
    const { recordName, recordValue } = claimed
    const texts = await lookUps.run(caller.organizationId, () => textsOf(recordName).catch(() => undefined))
    if (!texts) {
      throw new ApiError('resource_locked', `The name servers of ${claimed.domain} do not answer: try again later.`)
    }
    if (!texts.includes(recordValue)) {
      throw new ApiError('resource_locked', `Set the TXT record ${recordName} to ${recordValue} first.`)
    }
    return changeOne(place, request, {
      values: {},
      columns: ({ verifiedAt }) => (verifiedAt === null ? { verified_at: 'now' } : {}),
    })
  },
}

const remove: WriteRoute = {
  ...change('delete'),
  summary: 'Give a domain up',
  description: 'For good. Whoever has joined by it stays.',
  audited: 'domain.deleted',
  async handle({ db, params, revisions }) {
    await deleteRecord(db, domains, { id: place.id(params), revisions })
    return { status: 204 }
  },
}

export const domainRoutes: Route[] = [
  ...standardRoutes(domainStore, { at: place.at, operations: ['list', 'count', 'get'] }),
  create,
  verify,
  remove,
]
