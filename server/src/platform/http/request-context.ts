import type { FastifyRequest } from 'fastify'
import { ApiError } from '../model/errors.ts'
import { addressKey, type Allowance, type RateKind } from './limits/rate-limit.ts'
import type { Exchange, PublicRequest } from './route.ts'

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

/** The nil UUID (RFC 9562), which no record has. Invalid ids are looked up as this one. */
export const nilUuid = '00000000-0000-0000-0000-000000000000'

export const rateLimitedError = ({ policy, state, retryAfterSeconds }: Allowance): ApiError =>
  new ApiError('rate_limited', `Try again in ${retryAfterSeconds} s.`, {
    headers: { 'ratelimit-policy': policy, ratelimit: state, 'retry-after': String(retryAfterSeconds) },
  })
