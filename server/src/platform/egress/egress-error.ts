/** Why an outgoing request failed, in words for the person who entered the address. */
const reasons = {
  url: 'expected a URL that starts with http:// or https:// and contains no credentials',
  host: 'the host is unknown or not allowed; add internal hosts to EGRESS_ALLOW',
  plaintext: 'the connection would not be encrypted; use https, or ask the operator to add the host to PLAINTEXT_HOSTS',
  unreachable: 'the connection failed',
  closed: 'the connection, which was kept open, was closed instead of an answer',
  certificate: 'its TLS certificate is not trusted or is for a different name',
  slow: 'it did not respond in time',
  large: 'its response is too large',
  response: 'its response cannot be read',
  busy: 'too many outgoing requests are in progress; try again in a moment',
} as const

export type EgressReason = keyof typeof reasons

/** An outgoing request failed. The message reveals nothing about the host behind the address. */
export class EgressError extends Error {
  readonly reason: EgressReason

  constructor(reason: EgressReason, cause?: unknown) {
    super(reasons[reason], cause === undefined ? undefined : { cause })
    this.reason = reason
  }
}
