import { randomUUID } from 'node:crypto'
import { METHODS, type Server } from 'node:http'
import compress, { type FastifyCompressOptions } from '@fastify/compress'
import fastify, { type FastifyHttpOptions, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { constants } from 'node:zlib'
import { encodeId } from '../model/ids.ts'
import { addAdmissionControl, arrivalOf, RejectionLog } from './limits/admission.ts'
import { BodyBudget } from './limits/body-budget.ts'
import { addCors, corsHeaders } from './protocol/cors.ts'
import { commonTenant } from '../database/connection-queue.ts'
import { ApiError } from '../model/errors.ts'
import { hasTrailingSlash, isOnHost, requestTarget } from './request-context.ts'
import { callerAddress, type TrustedProxies, createTrust } from './protocol/forwarded.ts'
import { checkLimits, checkContentTypes, maxBodyBytes, maxUrlLength } from './limits/request-limits.ts'
import { applicationBase } from './pages/html.ts'
import { addGuides, type Guides } from './pages/guides.ts'
import type { Metrics } from './metrics.ts'
import { sendError } from './send-error.ts'
import { closeUnusedConnections } from './limits/unused-connections.ts'
import { isPage, type ProbeRoute, type Route, type ServedRoute, type Services, type RequestContext } from './route.ts'
import { createSecurityHeaders } from './protocol/security-headers.ts'
import { serve } from './serve.ts'
import { ParserErrorHandler } from './protocol/parser-errors.ts'
import { isAddress, Tenants } from './limits/tenants.ts'
import { version } from './protocol/version.ts'
import { addWebFiles, type WebApplication } from './pages/web-files.ts'
import { createWebPages, type SendWebPage } from './pages/web-pages.ts'

export interface ServerOptions {
  services: Services
  routes: readonly Route[]
  /** Why every other path is refused with 503, instead of a 404; undefined if the API and the application are served. */
  refusal?: string | undefined
  trustProxy: TrustedProxies
  corsOrigins: readonly string[]
  /** The separate origin of authentication; undefined if it shares the API's. */
  authOrigin: string | undefined
  /** The web application that browsers get. */
  web: WebApplication
  guides: Guides
  /** Does nobody have an account yet? */
  needsSetUp: () => Promise<boolean>
  metrics: Metrics
  /** True while the service should receive requests; reported by `/readyz`. */
  isReady: () => boolean
  /** Milliseconds for the headers, and for the whole request, to arrive. */
  timeouts?: { headers: number; request: number }
  /** Shared by the bodies of all requests. */
  budget?: BodyBudget
}

declare module 'fastify' {
  interface FastifyContextConfig {}
  interface FastifyRequest {
    requestContext: RequestContext
    startedAt: number
    /** The caller's address in canonical form. */
    readonly address: string
  }
  interface FastifyContextConfig {
    route?: ServedRoute
  }
}

/** Creates the HTTP server. Every response has the headers and error format of the interface. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { services, routes, trustProxy, web, guides, metrics } = options
  const corsOrigins = allowedOrigins(options)
  const trust = createTrust(trustProxy)
  const budget = options.budget ?? new BodyBudget()
  const timeouts = options.timeouts ?? { headers: 15_000, request: 30_000 }
  const securityHeaders = createSecurityHeaders(services.pageOrigin?.startsWith('https://') ?? false)
  const pushes = knownPaths(routes.filter(({ kind }) => kind === 'push'))
  const tenants = new Tenants({ trust, isPush: (path) => pushes.some(({ pattern }) => pattern.test(path)) })
  const parserErrors = new ParserErrorHandler({ version, securityHeaders, log: services.log })
  const settings: FastifyHttpOptions<Server> = {
    trustProxy: trust,
    bodyLimit: maxBodyBytes,
    requestTimeout: timeouts.request,
    keepAliveTimeout: 72_000,
    genReqId: () => encodeId('req', randomUUID()),
    // `methodsOf` adds HEAD: the framework's HEAD routes would send different headers when GET compresses its body.
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: maxUrlLength, ignoreTrailingSlash: true },
    http: {
      // Above our own limits, which report a better error, but below the 64 KiB that the parser reads at once.
      maxHeaderSize: 48 * 1024,
      headersTimeout: timeouts.headers,
      connectionsCheckingInterval: Math.min(5000, timeouts.headers),
      // Checked with the other limits, in the error format of the interface.
      requireHostHeader: false,
      // Otherwise Node would silently use the first of two.
      joinDuplicateHeaders: true,
    },
    clientErrorHandler: (error, socket) => parserErrors.handle(error, socket),
    frameworkErrors: (error, request, reply) => {
      beginRequest(request, reply)
      sendError(services, request, reply, error)
    },
  }
  const beginRequest = (request: FastifyRequest, reply: FastifyReply) => {
    const setTenant = (tenantKey: string) => tenants.learn(request.raw, tenantKey)
    prepareResponse(request, reply, { budget, setTenant, securityHeaders })
    // Not a framework hook: those miss callers that disconnected and requests that the router rejected.
    reply.raw.once('close', () => {
      request.requestContext.bodyReservation?.release()
      if (isAuthentication(request.requestContext, reply.statusCode)) tenants.forget(request.raw)
      logRequest(services, metrics, request, reply)
    })
  }
  const app = fastify(settings)
  // A caller may close its half of the connection and wait for the response; by default Node would close the other half
  // too.
  Object.assign(app.server, { httpAllowHalfOpen: true })
  // By default Node silently drops headers beyond 2000; their total size is limited anyway.
  app.server.maxHeadersCount = 0
  parserErrors.watch(app.server)
  const admitted = knownPaths(routes.filter(isAlwaysAdmitted))
  const rejectionLog = new RejectionLog(services.log)
  closeUnusedConnections(app)
  addAdmissionControl(app.server, {
    version,
    securityHeaders,
    isAlwaysAdmitted: (path) =>
      web.files.has(path) || guides.files.has(path) || admitted.some(({ pattern }) => pattern.test(path)),
    tenants,
    longestWait: (tenantKey) => services.database.longestWait(isAddress(tenantKey) ? commonTenant : tenantKey),
    corsHeaders: corsHeaders(corsOrigins),
    home: () => `${applicationBase(services)}/`,
    onRejected: () => {
      metrics.rejected()
      rejectionLog.count()
    },
  })
  // `serve` reads the body after checking the credential; for the framework no method has a body. It routes every
  // method that the parser knows, so that a known path can return 405.
  for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }
  app.decorateRequest('progress')
  app.decorateRequest('startedAt', 0)
  // Not the framework's `ip`, which trusts any X-Forwarded-For.
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
    // A kept-alive connection would be closed in a moment anyway, and would delay the stop.
    if (!options.isReady()) reply.header('connection', 'close')
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    const apiError = sendError(services, request, reply, error)
    const { route } = request.routeOptions.config
    if (route?.kind === 'push' && request.method === 'POST') route.refused(services, request, apiError)
  })
  addCors(app, corsOrigins)
  app.addHook('onRequest', (request, _reply, done) => {
    checkLimits(request)
    done()
  })
  await app.register(compress, compression)
  addRoutes(app, options)
  return app
}

const compression: FastifyCompressOptions = {
  threshold: 1024,
  globalDecompression: false,
  encodings: ['br', 'gzip'],
  brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
  zlibOptions: { level: 5 },
}

/** The application at AUTH_ORIGIN calls the API of the other host. */
const allowedOrigins = ({ corsOrigins, authOrigin }: ServerOptions): readonly string[] =>
  authOrigin === undefined ? corsOrigins : [...corsOrigins, authOrigin]

function addRoutes(app: FastifyInstance, options: ServerOptions): void {
  const sendWebPage = createWebPages(options)
  for (const route of options.routes) {
    if (route.kind === 'probe') addProbe(app, options, route)
    else addRoute(app, options, route, sendWebPage)
  }
  addWebFiles(app, options.web.files)
  addGuides(app, options)
  addFallbackRoutes(app, options, sendWebPage)
}

function addRoute(app: FastifyInstance, options: ServerOptions, route: ServedRoute, sendWebPage: SendWebPage): void {
  const { services, authOrigin } = options
  const isPageRoute = isPage(route)
  app.route({
    // A page asks first whether it may push.
    method: [...methodsOf(route.method), ...(route.kind === 'push' ? ['OPTIONS'] : [])],
    url: pattern(route.path),
    config: { route },
    // Not async: awaiting the reply would cost more than the rest of `serve`'s overhead.
    handler: (request, reply) => {
      if (request.method === 'OPTIONS') return void reply.code(204).header('allow', 'OPTIONS, POST').send()
      if (route.kind === 'public' && route.hasWebPage && sendWebPage(request, reply)) return
      request.requestContext.route = route.path
      request.requestContext.isPush = route.kind === 'push'
      if (!isServedOnHost(route, authOrigin, request)) {
        checkContentTypes(undefined, request)
        throw routeNotFound(request, options)
      }
      if (isPageRoute && hasTrailingSlash(request)) return void reply.redirect(withoutTrailingSlash(request), 308)
      const { requestContext } = request
      serve(route, { services, request, reply, requestContext }).catch((error: unknown) => void reply.send(error))
    },
  })
}

/** Pushes have a separate limit, health checks matter most under load, and documents need no database. */
const isAlwaysAdmitted = (route: Route): boolean =>
  route.kind === 'push' || route.kind === 'probe' || (route.kind === 'public' && route.needsDatabase === false)

/** Relative, so that it works behind a proxy: `/v5/swagger/` becomes `../swagger`. */
const withoutTrailingSlash = (request: FastifyRequest): string =>
  requestTarget(request).replace(/^.*\/(?=[^/?]+(\?|$))/, '../')

/** HEAD is handled like GET; Node omits the body. */
const methodsOf = (method: string): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])

/** With AUTH_ORIGIN, that host serves only authentication and the routes of both hosts. */
function isServedOnHost(route: Route, authOrigin: string | undefined, request: FastifyRequest): boolean {
  if (authOrigin === undefined || route.kind === 'probe' || (route.kind === 'public' && route.host === 'both'))
    return true
  if (route.kind === 'account' && route.isOnBothHosts) return true
  return isOnHost(request, authOrigin) === (route.kind === 'public' && route.host === 'auth')
}

const routeNotFound = (request: FastifyRequest, options: Pick<ServerOptions, 'routes'>) =>
  // HEAD sends the headers of GET, including the length.
  new ApiError(
    'not_found',
    `There is no route ${request.method.replace('HEAD', 'GET')} ${shownPath(request, options)}; see /v5/docs for all routes.`,
  )

/** `{contactId}` in the router's syntax. */
const pattern = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

interface KnownPath {
  path: string
  pattern: RegExp
  /** Including OPTIONS. */
  methods: ReadonlySet<string>
  routes: readonly Route[]
}

/** All paths with their methods, searched when no route matches: routing every method would cost memory. */
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

/** A known path with another method returns 405 with the allowed methods (RFC 9110 section 15.5.6). */
function addFallbackRoutes(app: FastifyInstance, options: ServerOptions, sendWebPage: SendWebPage): void {
  const { routes, authOrigin, refusal } = options
  const known = knownPaths(routes)
  const respond = (found: KnownPath | undefined, request: FastifyRequest, reply: FastifyReply) => {
    if (found) request.requestContext.route = found.path
    const push = found?.routes.find((route) => route.kind === 'push')
    if (!push) checkContentTypes(undefined, request)
    if (!found?.routes.some((route) => isServedOnHost(route, authOrigin, request)))
      throw routeNotFound(request, options)
    const allow = [...found.methods].sort().join(', ')
    if (request.method === 'OPTIONS') return reply.code(204).header('allow', allow).send()
    const description = push?.usage ?? `This path supports ${allow}.`
    throw new ApiError('method_not_allowed', description, { headers: { allow } })
  }
  app.setNotFoundHandler(async (request, reply) => {
    const path = requestTarget(request).split('?', 1)[0] ?? ''
    // The router prefers the path with the fewest parameters.
    const found = known.filter(({ pattern }) => pattern.test(path)).sort(byParameters)[0]
    if (!found && refusal !== undefined) throw new ApiError('overloaded', refusal, { headers: { 'retry-after': '1' } })
    return !found && sendWebPage(request, reply) ? reply : respond(found, request, reply)
  })
  // A path such as `/v5/contacts/count` also matches another path's parameter.
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

/** Not handled by `serve`: a probe has no rate limit and responds even while nothing else does. */
function addProbe(app: FastifyInstance, { services, isReady }: ServerOptions, route: ProbeRoute): void {
  app.route({
    method: methodsOf(route.method),
    url: route.path,
    handler: async (request, reply) => {
      request.requestContext.route = route.path
      const more = await route.check(services, isReady)
      return reply.type('application/json; charset=utf-8').send(JSON.stringify({ status: route.status, ...more }))
    },
  })
}

/** Headers of every response, including later errors. */
function prepareResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    securityHeaders,
    ...context
  }: Pick<RequestContext, 'budget' | 'setTenant'> & { securityHeaders: Readonly<Record<string, string>> },
): void {
  request.startedAt = arrivalOf(request.raw) ?? performance.now()
  request.requestContext = { route: 'unknown', ...context }
  reply.header('x-request-id', request.id).header('version', version).header('cache-control', 'no-store')
  reply.headers(securityHeaders).header('vary', 'accept-encoding')
}

/** Nothing was sent: the caller closed the connection before the response was complete. */
const clientClosedRequest = 499

/** Is it an attempt to authenticate? Then the caller's address is logged. */
const isAuthentication = ({ route, isPush }: RequestContext, status: number): boolean =>
  status === 401 || /^\/auth(?:\/|$)/.test(route) || (status === 404 && isPush === true)

/** Logs one line per request. Never the URL, the query, headers or bodies: they contain secrets and personal data. */
function logRequest({ log }: Services, metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const { route, credential, organization, streamedAt, waited = 0 } = request.requestContext
  const now = performance.now()
  // A stream counts until it begins, and may end with its client.
  const milliseconds = (streamedAt ?? now) - request.startedAt - waited
  const status = reply.raw.writableFinished || streamedAt !== undefined ? reply.statusCode : clientClosedRequest
  metrics.observe(request.method, route, status, milliseconds / 1000)
  const callers = request.headers['x-request-id']
  const line = {
    requestId: request.id,
    ...(typeof callers === 'string' && { callerRequestId: callers.slice(0, 200) }),
    method: request.method,
    route,
    status,
    milliseconds: Math.round(milliseconds * 100) / 100,
    ...(streamedAt !== undefined && { streamedSeconds: Math.round((now - streamedAt) / 1000) }),
    ...(waited > 0 && { waitedSeconds: Math.round(waited / 1000) }),
    ...(organization !== undefined && { organization }),
    ...(credential !== undefined && { credential }),
    ...(isAuthentication(request.requestContext, status) && { address: request.ip }),
  }
  log.info(line, 'request')
}

/** Path segments that are followed by a secret, such as `trigger` in `/trigger/{hash}`. */
const segmentsBeforeSecrets = (routes: readonly Route[]): ReadonlySet<string | undefined> =>
  new Set(
    routes.flatMap(({ path, params }) => {
      const segments = path.split('/')
      const secrets = Object.keys(params).filter((name) => params[name]?.prefix === '')
      return secrets.map((name) => segments[segments.indexOf(`{${name}}`) - 1])
    }),
  )

/** The part of the path that the caller probably misspelled: names and ids. The rest may be a secret. */
function shownPath(request: FastifyRequest, { routes }: Pick<ServerOptions, 'routes'>): string {
  const secretsFollow = segmentsBeforeSecrets(routes)
  const segments = requestTarget(request).split('?', 1)[0]?.slice(0, 200).split('/') ?? []
  const hidden = segments.findIndex((text, index) => secretsFollow.has(segments[index - 1]) || !shownSegment.test(text))
  return (hidden < 0 ? segments : [...segments.slice(0, hidden), '…']).join('/')
}

/** Text shorter than any secret, or an id. */
const shownSegment = /^(?:[\w.~-]{0,24}|[a-z]{3}_[0-9a-f]{32})$/
