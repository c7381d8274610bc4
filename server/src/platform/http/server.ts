import { randomUUID } from 'node:crypto'
import { METHODS, type Server } from 'node:http'
import compress from '@fastify/compress'
import fastify, { type FastifyHttpOptions, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { constants } from 'node:zlib'
import { showId } from '../model/ids.ts'
import { addAdmissionControl, RejectionLog } from './admission.ts'
import { BodyBudget } from './body-budget.ts'
import { addCors, corsHeaders } from './cors.ts'
import { ApiError } from '../model/errors.ts'
import { hasTrailingSlash, normalizeHost, type RequestContext, requestTarget } from './request-context.ts'
import { callerAddress, type TrustedProxies, createTrust } from './forwarded.ts'
import { checkLimits, checkContentTypes, maxBodyBytes, maxUrlLength } from './request-limits.ts'
import { basePath } from './html.ts'
import type { Metrics } from './metrics.ts'
import { sendError } from './send-error.ts'
import type { ProbeRoute, Route, ServedRoute, Services } from './route.ts'
import { createSecurityHeaders } from './security-headers.ts'
import { serve } from './serve.ts'
import { ParserErrorHandler } from './parser-errors.ts'
import { version } from './version.ts'

export interface ServerOptions {
  services: Services
  routes: readonly Route[]
  trustProxy: TrustedProxies
  corsOrigins: readonly string[]
  /** The origin that the authentication has to itself; undefined when it shares the API's. */
  authOrigin: string | undefined
  metrics: Metrics
  /** True while requests should be sent here; told by `/readyz`. */
  isReady: () => boolean
  /** Milliseconds that the headers, and the whole of a request, may take to arrive. */
  timeouts?: { headers: number; request: number }
  /** What the bodies of all requests share. */
  budget?: BodyBudget
}

declare module 'fastify' {
  interface FastifyRequest {
    requestContext: RequestContext
    startedAt: number
    /** The caller's address, in its usual form. */
    readonly address: string
  }
}

/** The HTTP server: every answer, the parser's own faults included, has the headers and the error shape of the interface. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { services, routes, trustProxy, corsOrigins, metrics } = options
  const trust = createTrust(trustProxy)
  const budget = options.budget ?? new BodyBudget()
  const timeouts = options.timeouts ?? { headers: 15_000, request: 30_000 }
  const securityHeaders = createSecurityHeaders(services.pageOrigin?.startsWith('https://') ?? false)
  const parserErrors = new ParserErrorHandler({ version, securityHeaders, log: services.log })
  const settings: FastifyHttpOptions<Server> = {
    trustProxy: trust,
    bodyLimit: maxBodyBytes,
    requestTimeout: timeouts.request,
    keepAliveTimeout: 72_000,
    genReqId: () => showId('req', randomUUID()),
    // HEAD is made by `methodsOf`: the framework's own would give other headers where GET compresses its body.
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: maxUrlLength, ignoreTrailingSlash: true },
    http: {
      // Above our own limits, so that what is a little too long is told apart and gets an answer like any other; below
      // the 64 KiB that are read at once, so that the rest is told apart too.
      maxHeaderSize: 48 * 1024,
      headersTimeout: timeouts.headers,
      connectionsCheckingInterval: Math.min(5000, timeouts.headers),
      // Checked with the other limits, in the error shape of the interface.
      requireHostHeader: false,
      // Node would take the first of two and say nothing.
      joinDuplicateHeaders: true,
    },
    clientErrorHandler: (error, socket) => parserErrors.refuse(error, socket),
    frameworkErrors: (error, request, reply) => {
      beginRequest(request, reply)
      sendError(services, request, reply, error)
    },
  }
  const beginRequest = (request: FastifyRequest, reply: FastifyReply) => {
    prepareResponse(request, reply, budget, securityHeaders)
    // Not the framework's hook: it says nothing of callers who left, nor of what the router refused.
    reply.raw.once('close', () => {
      request.requestContext.bodyReservation?.release()
      logRequest(services, metrics, request, reply)
    })
  }
  const app = fastify(settings)
  // A caller may close its half of the connection and wait for the answer; Node would close the other half too.
  Object.assign(app.server, { httpAllowHalfOpen: true })
  // Node drops the headers beyond 2000 without a word; how many bytes they may have is limited.
  app.server.maxHeadersCount = 0
  parserErrors.watch(app.server)
  const rejectionLog = new RejectionLog(services.log)
  addAdmissionControl(app.server, {
    version,
    securityHeaders,
    alwaysAdmitted: knownPaths(routes.filter(isAlwaysAdmitted)).map(({ pattern }) => pattern),
    longestWait: () => services.database.longestWait,
    corsHeaders: corsHeaders(corsOrigins),
    home: () => `${basePath(services.origin)}/`,
    onRejected: () => {
      metrics.rejected()
      rejectionLog.count()
    },
  })
  // The body is read by `serve`, after the credential: a stranger's megabyte is not parsed. To the framework no method
  // has one, and it routes all that the parser knows, so that a known path can say 405.
  for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  app.decorateRequest('progress')
  app.decorateRequest('startedAt', 0)
  // Not the framework's `ip`, which takes whatever stands in X-Forwarded-For.
  app.decorateRequest('address', {
    getter() {
      return callerAddress(this.raw, trust)
    },
  })
  app.addHook('onRequest', (request, reply, done) => {
    beginRequest(request, reply)
    done()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    // A caller that kept its connection would meet a closed one in a moment, and the stop would wait for it.
    if (!options.isReady()) reply.header('connection', 'close')
    done()
  })
  app.setErrorHandler((error, request, reply) => sendError(services, request, reply, error))
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
  for (const route of routes) {
    if (route.kind === 'probe') addProbe(app, options, route)
    else addRoute(app, options, route)
  }
  addFallbackRoutes(app, options)
  return app
}

function addRoute(app: FastifyInstance, options: ServerOptions, route: ServedRoute): void {
  const { services, authOrigin } = options
  app.route({
    method: methodsOf(route.method),
    url: pattern(route.path),
    // Not async: what awaits a reply costs more than all that `serve` does beside it.
    handler: (request, reply) => {
      request.requestContext.route = route.path
      request.requestContext.isPush = route.kind === 'push'
      if (!isServedOnHost(route, authOrigin, request)) {
        checkContentTypes(undefined, request)
        throw routeNotFound(request, options)
      }
      // Addresses within a page are relative, so it has one address alone.
      if (isPage(route) && hasTrailingSlash(request)) return void reply.redirect(withoutTrailingSlash(request), 308)
      serve(route, services, request, reply, request.requestContext).catch((error: unknown) => void reply.send(error))
    },
  })
}

/** Pushes have a bound of their own, the health of the process is asked for when it is worst, and documents need no database. */
const isAlwaysAdmitted = (route: Route): boolean =>
  route.kind === 'push' || route.kind === 'probe' || (route.kind === 'public' && route.needsDatabase === false)

const isPage = ({ responses: answers }: Route): boolean => Object.values(answers).some(({ kind }) => kind === 'text')

/** The address without the slash, relative so that it holds behind a proxy too: `/v5/swagger/` is `../swagger`. */
const withoutTrailingSlash = (request: FastifyRequest): string =>
  requestTarget(request).replace(/^.*\/(?=[^/?]+(\?|$))/, '../')

/** HEAD goes the whole way of GET; Node leaves the body out. */
const methodsOf = (method: string): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])

/** With AUTH_ORIGIN the authentication stands on that host alone, and only what both hosts have stands beside it. */
function isServedOnHost(route: Route, authOrigin: string | undefined, request: FastifyRequest): boolean {
  if (authOrigin === undefined || route.kind === 'probe' || (route.kind === 'public' && route.host === 'both'))
    return true
  if (route.kind === 'account' && route.isOnBothHosts) return true
  const onAuthHost = normalizeHost(request.host) === normalizeHost(new URL(authOrigin).host)
  return onAuthHost === (route.kind === 'public' && route.host === 'auth')
}

const routeNotFound = (request: FastifyRequest, options: Pick<ServerOptions, 'routes'>) =>
  // HEAD gives the headers of GET, the length included.
  new ApiError(
    'not_found',
    `There is no route ${request.method.replace('HEAD', 'GET')} ${shownPath(request, options)}; see /v5/docs for all routes.`,
  )

/** `{contactId}` as the router writes it. */
const pattern = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

interface KnownPath {
  path: string
  pattern: RegExp
  /** With OPTIONS. */
  methods: ReadonlySet<string>
  routes: readonly Route[]
}

/** Every path with the methods that it takes. Looked through for what no route takes: in the router, each method of each path costs memory. */
function knownPaths(routes: readonly Route[]): KnownPath[] {
  const byPath = new Map<string, Route[]>()
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route])
  return [...byPath].map(([path, taken]) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
    methods: new Set(['OPTIONS', ...taken.flatMap(({ method }) => methodsOf(method))]),
    routes: taken,
  }))
}

/** A known path with another method is 405 and says which methods it takes (RFC 9110 section 15.5.6). */
function addFallbackRoutes(app: FastifyInstance, options: ServerOptions): void {
  const { routes, authOrigin } = options
  const known = knownPaths(routes)
  const respond = (found: KnownPath | undefined, request: FastifyRequest, reply: FastifyReply) => {
    if (found) request.requestContext.route = found.path
    checkContentTypes(undefined, request)
    if (!found?.routes.some((route) => isServedOnHost(route, authOrigin, request)))
      throw routeNotFound(request, options)
    const allow = [...found.methods].sort().join(', ')
    if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send()
    throw new ApiError('method_not_allowed', `This path supports ${allow}.`, { headers: { allow } })
  }
  app.setNotFoundHandler(async (request, reply) => {
    const path = requestTarget(request).split('?', 1)[0] ?? ''
    // The path with the fewest parameters is the one that the router would take.
    return respond(known.filter(({ pattern }) => pattern.test(path)).sort(byParameters)[0], request, reply)
  })
  // What looks like another path's parameter (`/v5/contacts/count`) would be taken for one.
  for (const path of known) {
    const text = path.path.replace(/\{\w+\}/g, 'any')
    const others = known.filter((other) => other !== path && other.pattern.test(text))
    const methods = new Set(others.flatMap((other) => [...other.methods]).filter((name) => !path.methods.has(name)))
    if (methods.size === 0) continue
    const handler = async (request: FastifyRequest, reply: FastifyReply) => respond(path, request, reply)
    app.route({ method: [...methods], url: pattern(path.path), handler })
  }
}

const byParameters = (left: KnownPath, right: KnownPath): number => parametersIn(left.path) - parametersIn(right.path)

const parametersIn = (path: string): number => path.split('{').length

/** Outside `serve`: a probe has no rate limit, and is answered while nothing else is. */
function addProbe(app: FastifyInstance, { services, isReady }: ServerOptions, route: ProbeRoute): void {
  app.route({
    method: methodsOf(route.method),
    url: route.path,
    handler: async (request, reply) => {
      request.requestContext.route = route.path
      await route.check(services, isReady)
      return reply.type('application/json; charset=utf-8').send(JSON.stringify({ status: route.status }))
    },
  })
}

/** What every answer carries, also one that goes wrong later. */
function prepareResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  budget: BodyBudget,
  securityHeaders: Readonly<Record<string, string>>,
): void {
  request.startedAt = performance.now()
  request.requestContext = { route: 'unknown', budget }
  reply.header('x-request-id', request.id).header('version', version).header('cache-control', 'no-store')
  reply.headers(securityHeaders).header('vary', 'accept-encoding')
}

/** Not sent to anyone: the caller closed the connection before the answer was out. */
const clientClosedRequest = 499

/** Does the request prove, or fail to prove, who sends it? Then the log says from where. */
const isAuthentication = ({ route, isPush }: RequestContext, status: number): boolean =>
  status === 401 || /^\/auth(?:\/|$)/.test(route) || (status === 404 && isPush === true)

/** One line a request, after the answer. Never the URL, the query, a header or a body: they hold secrets and people. */
function logRequest({ log }: Services, metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const { route, credential, organization } = request.requestContext
  const milliseconds = performance.now() - request.startedAt
  const status = reply.raw.writableFinished ? reply.statusCode : clientClosedRequest
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
    ...(isAuthentication(request.requestContext, status) && { address: request.ip }),
  }
  log.info(line, 'request')
}

/** The segments of paths that a secret follows, such as `trigger` in `/trigger/{hash}`. */
const segmentsBeforeSecrets = (routes: readonly Route[]): ReadonlySet<string | undefined> =>
  new Set(
    routes.flatMap(({ path, params }) => {
      const segments = path.split('/')
      const secrets = Object.keys(params).filter((name) => params[name]?.prefix === '')
      return secrets.map((name) => segments[segments.indexOf(`{${name}}`) - 1])
    }),
  )

/** What the caller probably misspelt: names and ids. The rest of a path may be a secret. */
function shownPath(request: FastifyRequest, { routes }: Pick<ServerOptions, 'routes'>): string {
  const secretsFollow = segmentsBeforeSecrets(routes)
  const segments = requestTarget(request).split('?', 1)[0]?.slice(0, 200).split('/') ?? []
  const hidden = segments.findIndex((text, index) => secretsFollow.has(segments[index - 1]) || !shownSegment.test(text))
  return (hidden < 0 ? segments : [...segments.slice(0, hidden), '…']).join('/')
}

/** Shorter than any secret, or an id. */
const shownSegment = /^(?:[\w.~-]{0,24}|[a-z]{3}_[0-9a-f]{32})$/
