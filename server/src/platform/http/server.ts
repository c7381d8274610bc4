import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import fastify, { type FastifyHttpOptions, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { constants } from 'node:zlib'
import { newId, showId } from '../resource/ids.ts'
import { ApiError } from './errors.ts'
import type { Metrics } from './metrics.ts'
import type { Route, Services } from './route.ts'
import { checkFrame, largestBody, type Progress, serve } from './serve.ts'

/** The contract's date: `Version` on every answer, `info.version` in the OpenAPI document. */
export const version = '2026-11-21'

export interface ServerOptions {
  services: Services
  routes: readonly Route[]
  trustProxy: false | number | readonly string[]
  corsOrigins: readonly string[]
  /** The origin that the authentication has to itself; undefined when it shares the API's. */
  authOrigin: string | undefined
  metrics: Metrics
  /** True while requests should be sent here; told by `/readyz`. */
  isReady: () => boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    progress: Progress
    startedAt: number
  }
}

/** The HTTP server: every answer, the parser's own faults included, has the headers and the error shape of the interface. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { services, routes, trustProxy, corsOrigins, metrics } = options
  const settings: FastifyHttpOptions<Server> = {
    trustProxy: proxies(trustProxy),
    bodyLimit: largestBody,
    requestTimeout: 30_000,
    keepAliveTimeout: 72_000,
    genReqId: () => showId('req', newId()),
    exposeHeadRoutes: true,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 1000, ignoreTrailingSlash: false },
    http: { maxHeaderSize: 16 * 1024, headersTimeout: 15_000, connectionsCheckingInterval: 5000 },
    clientErrorHandler: (error, socket) => refuseUnparsed(error, socket),
    frameworkErrors: (error, request, reply) => {
      prepare(request, reply)
      refuse(services, request, reply, error)
    },
  }
  const app = fastify(settings)
  // The body is read by `serve`, after the credential: a stranger's megabyte is not parsed.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.decorateRequest('progress')
  app.decorateRequest('startedAt', 0)
  app.addHook('onRequest', async (request, reply) => prepare(request, reply))
  app.addHook('onResponse', async (request, reply) => told(services, metrics, request, reply))
  app.setErrorHandler((error, request, reply) => refuse(services, request, reply, error))
  await app.register(cors, {
    origin: [...corsOrigins],
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders: [
      'ETag',
      'Idempotent-Replayed',
      'Link',
      'Location',
      'RateLimit',
      'RateLimit-Policy',
      'Retry-After',
      'Version',
      'X-Request-Id',
    ],
    maxAge: 7200,
    strictPreflight: false,
  })
  await app.register(compress, {
    threshold: 1024,
    encodings: ['br', 'gzip'],
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
    zlibOptions: { level: 5 },
  })
  probes(app, options)
  for (const route of routes) addRoute(app, options, route)
  addOtherMethods(app, routes)
  app.setNotFoundHandler(async (request) => {
    checkFrame(undefined, request)
    throw new ApiError('not_found', `There is nothing at ${request.method} ${pathOf(request)}; /v5/docs lists what is.`)
  })
  return app
}

function addRoute(app: FastifyInstance, { services, authOrigin }: ServerOptions, route: Route): void {
  app.route({
    method: route.method,
    url: pattern(route.path),
    handler: async (request, reply) => {
      request.progress.route = route.path
      if (authOrigin !== undefined) checkHost(route, authOrigin, request)
      await serve(route, services, request, reply, request.progress)
      return reply
    },
  })
}

/** With AUTH_ORIGIN the authentication stands on that host alone, and nothing else does. */
function checkHost(route: Route, authOrigin: string, request: FastifyRequest): void {
  const onAuthHost = request.host === new URL(authOrigin).host
  const belongsThere = route.kind === 'public' && route.host === 'auth'
  if (onAuthHost !== belongsThere) {
    throw new ApiError('not_found', `There is nothing at ${request.method} ${pathOf(request)} of this host.`)
  }
}

/** A number means that many hops, counted from the connection. */
function proxies(
  trusted: ServerOptions['trustProxy'],
): boolean | string[] | ((address: string, hop: number) => boolean) {
  if (typeof trusted === 'number') return (_address, hop) => hop < trusted
  return trusted === false ? false : [...trusted]
}

/** `{contactId}` as the router writes it. */
const pattern = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

/** A known path with another method is 405 and says which methods it takes (RFC 9110 section 15.5.6). */
function addOtherMethods(app: FastifyInstance, routes: readonly Route[]): void {
  const byPath = new Map<string, Set<string>>()
  for (const { path, method } of routes) {
    const methods = byPath.get(path) ?? new Set(['OPTIONS'])
    methods.add(method)
    if (method === 'GET') methods.add('HEAD')
    byPath.set(path, methods)
  }
  for (const [path, methods] of byPath) {
    const allow = [...methods].sort().join(', ')
    const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'].filter((method) => !methods.has(method))
    app.route({
      method: others,
      url: pattern(path),
      handler: async (request) => {
        request.progress.route = path
        checkFrame(undefined, request)
        throw new ApiError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } })
      },
    })
    app.route({
      method: 'OPTIONS',
      url: pattern(path),
      handler: async (request, reply) => {
        request.progress.route = path
        return reply.code(204).header('allow', allow).send()
      },
    })
  }
}

function probes(app: FastifyInstance, { services, isReady }: ServerOptions): void {
  app.get('/healthz', async (_request, reply) => reply.type('application/json').send('{"status":"ok"}'))
  app.get('/readyz', async (_request, reply) => {
    if (!isReady()) throw notReady('The service is starting or stopping.')
    await services.database.ping()
    return reply.type('application/json').send('{"status":"ready"}')
  })
}

const notReady = (description: string) => new ApiError('overloaded', description, { headers: { 'retry-after': '1' } })

/** What every answer carries, also one that goes wrong later. */
function prepare(request: FastifyRequest, reply: FastifyReply): void {
  request.startedAt = performance.now()
  request.progress = { route: 'unknown' }
  reply.header('x-request-id', request.id).header('version', version).header('cache-control', 'no-store')
  reply.header('x-content-type-options', 'nosniff')
}

function refuse(services: Services, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const refusal = asApiError(error)
  if (refusal.status >= 500) {
    const report = refusal.code === 'internal_error' ? 'error' : 'warn'
    services.log[report](
      { requestId: request.id, route: request.progress.route, err: refusal.cause ?? refusal },
      refusal.code,
    )
  }
  void reply
    .code(refusal.status)
    .headers(refusal.headers)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(refusal.body()))
}

/** Faults of the framework and bugs, in the interface's words; what a bug says stays in the log. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const { code } = error as { code?: string }
  if (code === 'FST_ERR_BAD_URL') {
    const details = [{ field: 'path', message: 'is not valid percent-encoded UTF-8' }]
    return new ApiError('invalid_parameters', 'path: is not valid percent-encoded UTF-8', { details })
  }
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE') {
    return new ApiError('malformed_request', 'The connection ended before the body did.', { cause: error })
  }
  return new ApiError('internal_error', 'Something went wrong here. Quote the X-Request-Id when you report it.', {
    cause: error,
  })
}

/** One line a request, after the answer. Never the URL, the query, a header or a body: they hold secrets and people. */
function told({ log }: Services, metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const { route, credential, organization } = request.progress
  const milliseconds = performance.now() - request.startedAt
  metrics.observe(request.method, route, reply.statusCode, milliseconds / 1000)
  const callers = request.headers['x-request-id']
  const line = {
    requestId: request.id,
    ...(typeof callers === 'string' && { callerRequestId: callers.slice(0, 200) }),
    method: request.method,
    route,
    status: reply.statusCode,
    milliseconds: Math.round(milliseconds * 100) / 100,
    ...(organization !== undefined && { organization }),
    ...(credential !== undefined && { credential }),
  }
  log.info(line, 'request')
}

const pathOf = (request: FastifyRequest): string => (request.raw.url ?? '').split('?')[0]?.slice(0, 200) ?? ''

/** What Node's parser refuses never becomes a request; it gets the same shape, written by hand. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error)
    return
  }
  const refusal = parserRefusal(error)
  const body = JSON.stringify(refusal.body())
  const head = [
    `HTTP/1.1 ${refusal.status} ${refusal.status === 431 ? 'Request Header Fields Too Large' : 'Bad Request'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${showId('req', newId())}`,
    `Version: ${version}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function parserRefusal({ code }: NodeJS.ErrnoException): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ApiError('headers_too_large', 'The headers may have at most 16 KiB in all.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('malformed_request', 'The request did not arrive whole in time.')
  return new ApiError('malformed_request', 'This is not a valid HTTP request.')
}
