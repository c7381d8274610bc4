/** Why a request to somebody else's address came to nothing, in words for whoever gave the address. */
const reasons = {
  url: 'it is not an address that begins with http:// or https://, without credentials',
  host: 'the host is not known or not one that may be connected to; EGRESS_ALLOW names internal hosts',
  unreachable: 'no connection could be made or kept',
  certificate: 'its TLS certificate is not trusted, or belongs to another name',
  slow: 'it did not answer in time',
  large: 'its answer is too large',
  answer: 'its answer is not one that can be read',
  busy: 'too many outgoing requests are under way; try again in a moment',
} as const

export type EgressReason = keyof typeof reasons

/** A request to somebody else's address that came to nothing. Its message tells nothing about what is behind it. */
export class EgressError extends Error {
  readonly reason: EgressReason

  constructor(reason: EgressReason, cause?: unknown) {
    super(reasons[reason], cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}
