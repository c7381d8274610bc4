import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BodyBudget, BodyReservation } from './body-budget.ts'
import { ApiError } from '../model/errors.ts'
import { addressKey, type Allowance, type RateKind } from './rate-limit.ts'
import type { PublicRequest, Services } from './route.ts'

/** What is known of a request while it is answered; the log line is made from it. */
export interface RequestContext {
  route: string
  /** Is the credential in the path? */
  isPush?: boolean
  credential?: string
  organization?: string
  /** The bucket that was charged, to give the token of a 304 back. */
  charged?: { kind: RateKind; key: string }
  /** What the bodies of all requests share. */
  budget: BodyBudget
  /** This request's part of it. */
  bodyReservation?: BodyReservation
  /** The body, which can be read once only. */
  bytes?: Uint8Array
}

/** Takes a token of the bucket, and says on the answer how many are left. Error: 429. */
export async function charge(
  services: Services,
  reply: FastifyReply,
  requestContext: RequestContext,
  kind: RateKind,
  key: string,
): Promise<void> {
  const allowance = await services.limiter.charge(kind, key)
  requestContext.charged = { kind, key }
  if (!allowance.allowed) throw rateLimitedError(allowance)
  reply.header('ratelimit-policy', allowance.policy).header('ratelimit', allowance.state)
}

/** Takes one of the few tries that an address has a minute where each costs a mail or a hash. Error: 429. */
export async function chargeAttempt({ services, client }: Pick<PublicRequest, 'services' | 'client'>): Promise<void> {
  const allowance = await services.limiter.charge('password', addressKey(client.address))
  if (!allowance.allowed) throw rateLimitedError(allowance)
}

/**
 * Path and query, without a slash at the end of the path: both spellings are one address. A target that names the host
 * too is a proxy's form of it (RFC 9112 section 3.2.2).
 */
export const requestTarget = (request: FastifyRequest): string => rawTarget(request).replace(trailingSlash, '$1')

/** Is the path written with a slash at its end? */
export const hasTrailingSlash = (request: FastifyRequest): boolean => trailingSlash.test(rawTarget(request))

const rawTarget = (request: FastifyRequest): string => (request.raw.url ?? '').replace(/^https?:\/\/[^/?]*/i, '')

const trailingSlash = /^([^?]+)\/(?=\?|$)/

/** Host names have no case, and the port may be said although it is the usual one. */
export const normalizeHost = (host: string): string => host.toLowerCase().replace(/:(?:80|443)$/, '')

/** A header that may stand once; Node joins repeated ones with a comma, or keeps a list. */
export function singleHeader(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The nil UUID (RFC 9562), which no record has: what an id of another form is looked up as. */
export const nilUuid = '00000000-0000-0000-0000-000000000000'

/** 429 with the headers that say when to try again. */
export const rateLimitedError = ({ policy, state, retryAfterSeconds }: Allowance): ApiError =>
  new ApiError('rate_limited', `Try again in ${retryAfterSeconds} s.`, {
    headers: { 'ratelimit-policy': policy, ratelimit: state, 'retry-after': String(retryAfterSeconds) },
  })
