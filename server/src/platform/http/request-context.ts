import type { FastifyRequest } from 'fastify'
import type { BodyBudget, BodyReservation } from './body-budget.ts'
import { ApiError } from '../model/errors.ts'
import { addressKey, type Allowance, type RateKind } from './rate-limit.ts'
import type { Exchange, PublicRequest } from './route.ts'

/** What is known about a request while it is processed; its log line is built from this. */
export interface RequestContext {
  route: string
  /** Does the path contain the credential? */
  isPush?: boolean
  credential?: string
  organization?: string
  /** Called once it is known in whose turn requests with this credential are started: an organization or a person. */
  setTenant: (tenantKey: string) => void
  /** The charged bucket, so that a 304 can be refunded. */
  charged?: { kind: RateKind; key: string }
  /** Shared by the bodies of all requests. */
  budget: BodyBudget
  /** This request's share of the budget. */
  bodyReservation?: BodyReservation
  /** The beginning of a body that was too large. */
  beginning?: Buffer
  /** The body; the stream can only be read once. */
  bytes?: Uint8Array
}

/** Takes a token from the bucket and sends how many are left. Throws 429. */
export async function charge(
  { services, reply, requestContext }: Exchange,
  kind: RateKind,
  key: string,
): Promise<void> {
  const allowance = await services.limiter.charge(kind, key)
  requestContext.charged = { kind, key }
  if (!allowance.allowed) throw rateLimitedError(allowance)
  reply.header('ratelimit-policy', allowance.policy).header('ratelimit', allowance.state)
}

/** Takes one of an address's few attempts per minute that each cost a mail or a password hash. Throws 429. */
export async function chargeAttempt({ services, client }: Pick<PublicRequest, 'services' | 'client'>): Promise<void> {
  const allowance = await services.limiter.charge('password', addressKey(client.address))
  if (!allowance.allowed) throw rateLimitedError(allowance)
}

/** Path and query, without a trailing slash. A target with a host is a proxy's form (RFC 9112 section 3.2.2). */
export const requestTarget = (request: FastifyRequest): string => rawTarget(request).replace(trailingSlash, '$1')

export const hasTrailingSlash = (request: FastifyRequest): boolean => trailingSlash.test(rawTarget(request))

const rawTarget = (request: FastifyRequest): string => (request.raw.url ?? '').replace(/^https?:\/\/[^/?]*/i, '')

const trailingSlash = /^([^?]+)\/(?=\?|$)/

/** Host names are case-insensitive, and the default port may be present. */
export const normalizeHost = (host: string): string => host.toLowerCase().replace(/:(?:80|443)$/, '')

/** Does the request name the host of this origin? */
export const isOnHost = (request: FastifyRequest, origin: string): boolean =>
  normalizeHost(request.host) === normalizeHost(new URL(origin).host)

/** A header that may occur once. Node joins repeated ones with a comma, or returns a list. */
export function singleHeader(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The nil UUID (RFC 9562), which no record has. Invalid ids are looked up as this one. */
export const nilUuid = '00000000-0000-0000-0000-000000000000'

export const rateLimitedError = ({ policy, state, retryAfterSeconds }: Allowance): ApiError =>
  new ApiError('rate_limited', `Try again in ${retryAfterSeconds} s.`, {
    headers: { 'ratelimit-policy': policy, ratelimit: state, 'retry-after': String(retryAfterSeconds) },
  })
