import type { FastifyReply, FastifyRequest } from 'fastify'
import { escapeHtml } from './escape-html.ts'
import { listTag, matchesNone } from '../protocol/etag.ts'
import { FixedText } from '../protocol/fixed-text.ts'
import { applicationBase, wantsPage } from './html.ts'
import { isOnHost, requestTarget } from '../request-context.ts'
import type { Route, Services } from '../route.ts'
import { isPage } from '../route.ts'
import type { WebApplication } from './web-files.ts'
import { singleHeader } from '../protocol/header.ts'

export interface WebPageOptions {
  services: Services
  routes: readonly Route[]
  web: WebApplication
  /** The host that serves the application, if it is not the API's. */
  authOrigin: string | undefined
  /** Does nobody have an account yet? Then the page says so. */
  needsSetUp: () => Promise<boolean>
}

/** Sends the application's page to a browser; returns false if the request is not for the application. */
export type SendWebPage = (request: FastifyRequest, reply: FastifyReply) => boolean

/** Every path that is not the API's belongs to the application, which has its own page for those that do not exist. */
export function createWebPages({ services, routes, web, authOrigin, needsSetUp }: WebPageOptions): SendWebPage {
  const ofApi = new Set(routes.filter((route) => !isPage(route)).map(({ path }) => firstSegment(path)))
  const collections = new Set(routes.flatMap(({ path }) => /^\/v5\/([\w-]+)$/.exec(path)?.[1] ?? []))
  const pages = new Map<boolean, Page>()
  return (request, reply) => {
    const target = requestTarget(request)
    const segment = firstSegment(target)
    if (!wantsPage(request) || (segment !== '' && ofApi.has(segment))) return false
    request.requestContext.route = 'web page'
    if (authOrigin !== undefined && !isOnHost(request, authOrigin)) {
      void reply.redirect(`${authOrigin}${target}`, 302)
      return true
    }
    const isKnown = segment === '' || web.segments.has(segment) || collections.has(segment)
    const send = async (isNeeded: boolean) => {
      // The API's address is known once the service listens.
      const page = pages.get(isNeeded) ?? createPage(web.page, services, isNeeded)
      pages.set(isNeeded, page)
      await sendPage(page, isKnown ? 200 : 404, request, reply)
    }
    needsSetUp()
      .then(send)
      .catch((error: unknown) => void reply.send(error))
    return true
  }
}

/** `contacts` of `/contacts/con_1?tab=notes`. */
const firstSegment = (target: string): string => target.split(/[/?]/, 2)[1] ?? ''

interface Page {
  content: FixedText
  etag: string
  contentSecurityPolicy: string
}

/** With AUTH_ORIGIN, the API has another origin: the page names it, and may connect to it. */
function createPage(html: string, services: Services, needsSetUp: boolean): Page {
  const isApiElsewhere = applicationBase(services) === services.pageOrigin
  const facts = [
    ...(isApiElsewhere ? [`<meta name="rapport-api" content="${escapeHtml(services.origin)}" />`] : []),
    ...(needsSetUp ? ['<meta name="rapport-set-up" content="needed" />'] : []),
  ]
  const text = html.replace('<title>', [...facts, '<title>'].join('\n    '))
  const api = isApiElsewhere ? ` ${new URL(services.origin).origin}` : ''
  return { content: new FixedText(text), etag: listTag(text), contentSecurityPolicy: contentSecurityPolicy(api) }
}

/** Nothing is loaded from another host, not even the pictures of contacts, whose addresses other people choose. */
const contentSecurityPolicy = (api: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${api}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

async function sendPage(
  page: Page,
  status: number,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  void reply.headers({
    'content-security-policy': page.contentSecurityPolicy,
    'cache-control': 'no-cache',
    etag: page.etag,
    vary: 'accept, accept-encoding, origin',
  })
  const none = singleHeader(request, 'if-none-match')
  if (status === 200 && none !== undefined && !matchesNone(none, page.etag)) return reply.code(304).send()
  return page.content.send(request, reply.code(status).type('text/html; charset=utf-8'))
}
