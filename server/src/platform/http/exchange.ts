import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from './errors.ts'
import { addressKey, type Allowance, type RateKind } from './rate-limit.ts'
import type { PublicRequest, Services } from './route.ts'

/** What is known of a request while it is answered; the log line is made from it. */
export interface Progress {
  route: string
  credential?: string
  organization?: string
  /** The bucket that was charged, to give the token of a 304 back. */
  charged?: { kind: RateKind; key: string }
  /** The body, which can be read once only. */
  bytes?: Uint8Array
}

/** Takes a token of the bucket, and says on the answer how many are left. Error: 429. */
export function charge(services: Services, reply: FastifyReply, progress: Progress, kind: RateKind, key: string): void {
  const allowance = services.limiter.charge(kind, key)
  progress.charged = { kind, key }
  if (!allowance.allowed) throw limited(allowance)
  reply.header('ratelimit-policy', allowance.policy).header('ratelimit', allowance.state)
}

/** Takes one of the few tries that an address has a minute where each costs a mail or a hash. Error: 429. */
export function chargeTry({ services, client }: Pick<PublicRequest, 'services' | 'client'>): void {
  const allowance = services.limiter.charge('password', addressKey(client.address))
  if (!allowance.allowed) throw limited(allowance)
}

/** Path and query; a target that names the host too is a proxy's form of it (RFC 9112 section 3.2.2). */
export const targetOf = (request: FastifyRequest): string => (request.raw.url ?? '').replace(/^https?:\/\/[^/?]*/i, '')

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
