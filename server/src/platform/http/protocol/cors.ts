import type { FastifyInstance } from 'fastify'

const methods = 'GET, HEAD, POST, PATCH, DELETE'
const exposed = [
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Version',
  'X-Request-Id',
].join(', ')
/** Seconds that a browser may cache a preflight; no browser caches longer. */
const preflightMaxAge = 7200

/** The headers that let an allowed origin's page read a response; other origins only get `Vary`. */
export function corsHeaders(origins: readonly string[]): (origin: string | undefined) => Record<string, string> {
  const allowed = new Set(origins)
  if (allowed.size === 0) return () => ({})
  const vary = { vary: 'accept-encoding, origin' }
  return (origin) =>
    origin !== undefined && allowed.has(origin)
      ? { ...vary, 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed }
      : vary
}

/** A push carries its credential in its path and nothing in cookies, so a page of any origin may send it. */
const pushHeaders = { 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed }

/** Lets pages of these origins call the API (Fetch standard, section 3.3); other preflights get no CORS headers. */
export function addCors(app: FastifyInstance, origins: readonly string[]): void {
  const headersFor = corsHeaders(origins)
  app.addHook('onRequest', async (request, reply) => {
    const { origin, 'access-control-request-method': wanted } = request.headers
    const isPush = request.routeOptions.config.route?.kind === 'push'
    const responseHeaders: Record<string, string> = isPush ? pushHeaders : headersFor(origin)
    reply.headers(responseHeaders)
    if (!('access-control-allow-origin' in responseHeaders)) return
    if (request.method !== 'OPTIONS' || wanted === undefined) return
    const headers = request.headers['access-control-request-headers']
    if (headers !== undefined) reply.header('access-control-allow-headers', headers)
    reply
      .header('access-control-allow-methods', isPush ? 'POST' : methods)
      .header('access-control-max-age', preflightMaxAge)
    await reply.code(204).send()
  })
}
