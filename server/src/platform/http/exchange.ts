import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BodyBudget, HeldBody } from './body-budget.ts'
import { ApiError } from '../model/errors.ts'
import { addressKey, type Allowance, type RateKind } from './rate-limit.ts'
import type { PublicRequest, Services } from './route.ts'

/** What is known of a request while it is answered; the log line is made from it. */
export interface Progress {
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
  held?: HeldBody
  /** The body, which can be read once only. */
  bytes?: Uint8Array
}

/** Takes a token of the bucket, and says on the answer how many are left. Error: 429. */
export async function charge(
  services: Services,
  reply: FastifyReply,
  progress: Progress,
  kind: RateKind,
  key: string,
): Promise<void> {
  const allowance = await services.limiter.charge(kind, key)
  progress.charged = { kind, key }
  if (!allowance.allowed) throw limited(allowance)
  reply.header('ratelimit-policy', allowance.policy).header('ratelimit', allowance.state)
}

/** Takes one of the few tries that an address has a minute where each costs a mail or a hash. Error: 429. */
export async function chargeTry({ services, client }: Pick<PublicRequest, 'services' | 'client'>): Promise<void> {
  const allowance = await services.limiter.charge('password', addressKey(client.address))
  if (!allowance.allowed) throw limited(allowance)
}

/**
 * Path and query, without a slash at the end of the path: both spellings are one address. A target that names the host
 * too is a proxy's form of it (RFC 9112 section 3.2.2).
 */
export const targetOf = (request: FastifyRequest): string => sentTarget(request).replace(finalSlash, '$1')

/** Is the path written with a slash at its end? */
export const hasFinalSlash = (request: FastifyRequest): boolean => finalSlash.test(sentTarget(request))

const sentTarget = (request: FastifyRequest): string => (request.raw.url ?? '').replace(/^https?:\/\/[^/?]*/i, '')

const finalSlash = /^([^?]+)\/(?=\?|$)/

/** Host names have no case, and the port may be said although it is the usual one. */
export const plainHost = (host: string): string => host.toLowerCase().replace(/:(?:80|443)$/, '')

/** A header that may stand once; Node joins repeated ones with a comma, or keeps a list. */
export function single(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The nil UUID (RFC 9562), which no record has: what an id of another form is looked up as. */
export const noRecord = '00000000-0000-0000-0000-000000000000'

/** 429 with the headers that say when to try again. */
export const limited = ({ policy, state, retryAfterSeconds }: Allowance): ApiError =>
  new ApiError('rate_limited', `Try again in ${retryAfterSeconds} s.`, {
    headers: { 'ratelimit-policy': policy, ratelimit: state, 'retry-after': String(retryAfterSeconds) },
  })
