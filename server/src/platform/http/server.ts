import { randomUUID } from 'node:crypto'
import { METHODS, type Server } from 'node:http'
import compress from '@fastify/compress'
import fastify, { type FastifyHttpOptions, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { constants } from 'node:zlib'
import { showId } from '../resource/ids.ts'
import { addAdmission, Refusals } from './admission.ts'
import { addCors, corsHeaders } from './cors.ts'
import { ApiError } from './errors.ts'
import { type Progress, targetOf } from './exchange.ts'
import { checkLimits, checkMedia, largestBody, longestUrl, urlTooLong } from './frame.ts'
import type { Metrics } from './metrics.ts'
import type { Route, Services } from './route.ts'
import { safetyHeaders } from './safety.ts'
import { serve } from './serve.ts'
import { UnparsedRequests } from './unparsed.ts'
import { version } from './version.ts'

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
  /** Milliseconds that the headers, and the whole of a request, may take to arrive. */
  patience?: { headers: number; request: number }
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
  const patience = options.patience ?? { headers: 15_000, request: 30_000 }
  const safety = safetyHeaders(services.pageOrigin?.startsWith('https://') ?? false)
  const unparsed = new UnparsedRequests({ version, safety, log: services.log })
  const settings: FastifyHttpOptions<Server> = {
    trustProxy: proxies(trustProxy),
    bodyLimit: largestBody,
    requestTimeout: patience.request,
    keepAliveTimeout: 72_000,
    genReqId: () => showId('req', randomUUID()),
    // HEAD is made by `methodsOf`: the framework's own would give other headers where GET compresses its body.
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: longestUrl, ignoreTrailingSlash: false },
    http: {
      // Above our own limits, so that what is a little too long is told apart and gets an answer like any other; below
      // the 64 KiB that are read at once, so that the rest is told apart too.
      maxHeaderSize: 48 * 1024,
      headersTimeout: patience.headers,
      connectionsCheckingInterval: Math.min(5000, patience.headers),
      // Checked with the other limits, in the error shape of the interface.
      requireHostHeader: false,
      // Node would take the first of two and say nothing.
      joinDuplicateHeaders: true,
    },
    clientErrorHandler: (error, socket) => unparsed.refuse(error, socket),
    frameworkErrors: (error, request, reply) => {
      begin(request, reply)
      refuse(services, request, reply, error)
    },
  }
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    prepare(request, reply, safety)
    // Not the framework's hook: it says nothing of callers who left, nor of what the router refused.
    reply.raw.once('close', () => told(services, metrics, request, reply))
  }
  const app = fastify(settings)
  // A caller may close its half of the connection and wait for the answer; Node would close the other half too.
  Object.assign(app.server, { httpAllowHalfOpen: true })
  // Node drops the headers beyond 2000 without a word; how many bytes they may have is limited.
  app.server.maxHeadersCount = 0
  unparsed.watch(app.server)
  const refusals = new Refusals(services.log)
  addAdmission(app.server, {
    version,
    safety,
    longestWait: () => services.database.longestWait,
    corsHeaders: corsHeaders(corsOrigins),
    refused: () => {
      metrics.refused()
      refusals.count()
    },
  })
  // The body is read by `serve`, after the credential: a stranger's megabyte is not parsed. To the framework no method
  // has one, and it routes all that the parser knows, so that a known path can say 405.
  for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  app.decorateRequest('progress')
  app.decorateRequest('startedAt', 0)
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // A caller that kept its connection would meet a closed one in a moment, and the stop would wait for it.
    if (!options.isReady()) reply.header('connection', 'close')
    done()
  })
  app.setErrorHandler((error, request, reply) => refuse(services, request, reply, error))
  addCors(app, corsOrigins)
  app.addHook('onRequest', (request, _reply, done) => {
    checkLimits(request)
    done()
  })
  await app.register(compress, {
    threshold: 1024,
    globalDecompression: false,
    encodings: ['br', 'gzip'],
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
    zlibOptions: { level: 5 },
  })
  probes(app, options)
  for (const route of routes) addRoute(app, options, route)
  answerOthers(app, options)
  return app
}

function addRoute(app: FastifyInstance, { services, authOrigin }: ServerOptions, route: Route): void {
  app.route({
    method: methodsOf(route.method),
    url: pattern(route.path),
    // Not async: what awaits a reply costs more than all that `serve` does beside it.
    handler: (request, reply) => {
      request.progress.route = route.path
      if (!standsOn(route, authOrigin, request)) {
        checkMedia(undefined, request)
        throw nothingAt(request)
      }
      serve(route, services, request, reply, request.progress).catch((error: unknown) => void reply.send(error))
    },
  })
}

/** HEAD goes the whole way of GET; Node leaves the body out. */
const methodsOf = (method: string): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])

/** With AUTH_ORIGIN the authentication stands on that host alone, and nothing else does. */
function standsOn(route: Route, authOrigin: string | undefined, request: FastifyRequest): boolean {
  if (authOrigin === undefined) return true
  const onAuthHost = plainHost(request.host) === plainHost(new URL(authOrigin).host)
  return onAuthHost === (route.kind === 'public' && route.host === 'auth')
}

/** Host names have no case, and the port may be said although it is the usual one. */
const plainHost = (host: string): string => host.toLowerCase().replace(/:(?:80|443)$/, '')

const nothingAt = (request: FastifyRequest) =>
  // HEAD gives the headers of GET, the length included.
  new ApiError(
    'not_found',
    `There is nothing at ${request.method.replace('HEAD', 'GET')} ${shownPath(request)}; /v5/docs lists what is.`,
  )

/** A number means that many hops, counted from the connection. */
function proxies(
  trusted: ServerOptions['trustProxy'],
): boolean | string[] | ((address: string, hop: number) => boolean) {
  if (typeof trusted === 'number') return (_address, hop) => hop < trusted
  return trusted === false ? false : [...trusted]
}

/** `{contactId}` as the router writes it. */
const pattern = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

interface KnownPath {
  path: string
  pattern: RegExp
  /** With OPTIONS. */
  methods: ReadonlySet<string>
  routes: readonly Route[]
}

const probePaths = ['/healthz', '/readyz']

/** Every path with the methods that it takes. Looked through for what no route takes: in the router, each method of each path costs memory. */
function knownPaths(routes: readonly Route[]): KnownPath[] {
  const byPath = new Map<string, Route[]>(probePaths.map((path) => [path, []]))
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  return [...byPath].map(([path, taken]) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods: new Set([
      'OPTIONS',
      ...(taken.length === 0 ? methodsOf('GET') : taken.flatMap(({ method }) => methodsOf(method))),
    ]),
    routes: taken,
  }))
}

/** A known path with another method is 405 and says which methods it takes (RFC 9110 section 15.5.6). */
function answerOthers(app: FastifyInstance, { routes, authOrigin }: ServerOptions): void {
  const known = knownPaths(routes)
  const answer = (found: KnownPath | undefined, request: FastifyRequest, reply: FastifyReply) => {
    if (found) request.progress.route = found.path
    checkMedia(undefined, request)
    const isHere = found?.routes.length === 0 || found?.routes.some((route) => standsOn(route, authOrigin, request))
    if (!found || !isHere) throw nothingAt(request)
    const allow = [...found.methods].sort().join(', ')
    if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send()
    throw new ApiError('method_not_allowed', `This path takes ${allow}.`, { headers: { allow } })
  }
  app.setNotFoundHandler(async (request, reply) => {
    const path = targetOf(request).split('?', 1)[0] ?? ''
    // The path with the fewest parameters is the one that the router would take.
    return answer(known.filter(({ pattern }) => pattern.test(path)).sort(byParameters)[0], request, reply)
  })
  // What looks like another path's parameter (`/v5/contacts/count`) would be taken for one.
  for (const path of known) {
    const text = path.path.replace(/\{\w+\}/g, 'any')
    const others = known.filter((other) => other !== path && other.pattern.test(text))
    const methods = new Set(others.flatMap((other) => [...other.methods]).filter((name) => !path.methods.has(name)))
    if (methods.size === 0) continue
    const handler = async (request: FastifyRequest, reply: FastifyReply) => answer(path, request, reply)
    app.route({ method: [...methods], url: pattern(path.path), handler })
  }
}

const byParameters = (left: KnownPath, right: KnownPath): number => parametersIn(left.path) - parametersIn(right.path)

const parametersIn = (path: string): number => path.split('{').length

function probes(app: FastifyInstance, { services, isReady }: ServerOptions): void {
  const probe = (path: string, status: string, check: () => Promise<void>) => {
    app.route({
      method: methodsOf('GET'),
      url: path,
      handler: async (request, reply) => {
        request.progress.route = path
        await check()
        return reply.type('application/json; charset=utf-8').send(JSON.stringify({ status }))
      },
    })
  }
  probe('/healthz', 'ok', async () => undefined)
  probe('/readyz', 'ready', async () => {
    if (!isReady()) throw notReady('The service is starting or stopping.')
    await services.database.ping()
  })
}

const notReady = (description: string) => new ApiError('overloaded', description, { headers: { 'retry-after': '1' } })

/** What every answer carries, also one that goes wrong later. */
function prepare(request: FastifyRequest, reply: FastifyReply, safety: Readonly<Record<string, string>>): void {
  request.startedAt = performance.now()
  request.progress = { route: 'unknown' }
  reply.header('x-request-id', request.id).header('version', version).header('cache-control', 'no-store')
  reply.headers(safety).header('vary', 'accept-encoding')
}

function refuse(services: Services, request: FastifyRequest, reply: FastifyReply, error: unknown): void {
  const refusal = asApiError(error)
  // A refusal of ours without a cause (not ready, too many wait) is told whole by the line of its request.
  if (refusal.status >= 500 && refusal.cause !== undefined) {
    const report = refusal.code === 'internal_error' ? 'error' : 'warn'
    const { id: requestId, progress } = request
    services.log[report]({ requestId, route: progress.route, err: reported(refusal.cause) }, refusal.code)
  }
  void reply
    .code(refusal.status)
    .headers(refusal.headers)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(refusal.body()))
}

/** What PostgreSQL adds to its errors (the row, the value) would bring records into the log. */
function reported(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { name, message, stack } = error
  return { type: name, message, code: (error as NodeJS.ErrnoException).code, stack }
}

/** Faults of the framework and bugs, in the interface's words; what a bug says stays in the log. */
function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const { code } = error as { code?: string }
  if (code === 'FST_ERR_BAD_URL') {
    const details = [{ field: 'path', message: 'is not valid percent-encoded UTF-8' }]
    return new ApiError('invalid_parameters', 'path: is not valid percent-encoded UTF-8', { details })
  }
  if (code === 'FST_ERR_MAX_PARAM_LENGTH') return urlTooLong()
  return new ApiError('internal_error', 'Something went wrong here. Quote the X-Request-Id when you report it.', {
    cause: error,
  })
}

/** Not sent to anyone: the caller closed the connection before the answer was out. */
const callerLeft = 499

/** One line a request, after the answer. Never the URL, the query, a header or a body: they hold secrets and people. */
function told({ log }: Services, metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const { route, credential, organization } = request.progress
  const milliseconds = performance.now() - request.startedAt
  const status = reply.raw.writableFinished ? reply.statusCode : callerLeft
  metrics.observe(request.method, route, status, milliseconds / 1000)
  const callers = request.headers['x-request-id']
  const line = {
    requestId: request.id,
    ...(typeof callers === 'string' && { callerRequestId: callers.slice(0, 200) }),
    method: request.method,
    route,
    status,
    milliseconds: Math.round(milliseconds * 100) / 100,
    ...(organization !== undefined && { organization }),
    ...(credential !== undefined && { credential }),
  }
  log.info(line, 'request')
}

/** What the caller probably misspelt: names and ids. The rest of a path may be the secret of a trigger URL. */
function shownPath(request: FastifyRequest): string {
  const segments = targetOf(request).split('?', 1)[0]?.slice(0, 200).split('/') ?? []
  const hidden = segments.findIndex((text, index) => segments[index - 1] === 'trigger' || !shownSegment.test(text))
  return (hidden < 0 ? segments : [...segments.slice(0, hidden), '…']).join('/')
}

/** Shorter than any secret, or an id. */
const shownSegment = /^(?:[\w.~-]{0,24}|[a-z]{3}_[0-9a-f]{32})$/
