/** An answer of the API is no page: nothing of it is run or framed, should a browser show it. Our pages have their own. */
const apiContentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const year = 365 * 24 * 60 * 60

/**
 * What every answer tells a browser, also one that goes wrong early. `isHttps`: the service is reached by https, and is to
 * be reached by nothing else (RFC 6797); other hosts of the same domain are their operator's matter.
 */
export const createSecurityHeaders = (isHttps: boolean): Readonly<Record<string, string>> => ({
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': apiContentSecurityPolicy,
  ...(isHttps && { 'strict-transport-security': `max-age=${2 * year}` }),
})
