/**
 * API responses are not pages: if a browser shows one, nothing in it may run or be framed. Pages have their own policy.
 */
const apiContentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const year = 365 * 24 * 60 * 60

/**
 * Security headers of every response, including early errors. `isHttps`: the service is reached by https and must not
 * be reached by anything else (RFC 6797); other hosts of the domain are up to their operators.
 */
export const createSecurityHeaders = (isHttps: boolean): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': apiContentSecurityPolicy,
  ...(isHttps && { 'strict-transport-security': `max-age=${2 * year}` }),
})
