/** If a browser shows an API response, nothing in it may run or be framed. Pages have their own policy. */
const apiContentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const year = 365 * 24 * 60 * 60

/** `isHttps`: the service is reached by https only (RFC 6797); other hosts of the domain are not affected. */
export const createSecurityHeaders = (isHttps: boolean): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': apiContentSecurityPolicy,
  ...(isHttps && { 'strict-transport-security': `max-age=${2 * year}` }),
})
