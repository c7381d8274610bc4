import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { escapeHtml } from './escape-html.ts'
import type { ApiError } from '../../model/errors.ts'
import { prefersHtml } from '../protocol/content-negotiation.ts'
import { pageStyle } from './page-style.ts'

/**
 * Does a person open this address in a browser? Browsers prefer HTML and send no API credentials; everything else gets
 * JSON. Some libraries, such as Java's HttpURLConnection, prefer HTML too: on the API's paths, the browser must say that
 * it navigates (`Sec-Fetch-Mode`, Fetch Metadata Request Headers). It does so on https and on localhost.
 */
export function wantsPage({ method, headers, url }: Pick<IncomingMessage, 'method' | 'headers' | 'url'>): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  if (!isRead || headers.authorization !== undefined || !prefersHtml(headers.accept ?? '')) return false
  return headers['sec-fetch-mode'] === 'navigate' || !apiPath.test(url ?? '')
}

const apiPath = /^\/(?:v5|api|auth|\.well-known)(?:[/?]|$)/

/** The path of PUBLIC_URL; '' if it has none. */
export const basePath = (origin: string): string =>
  URL.canParse(origin) ? new URL(origin).pathname.replace(/\/$/, '') : ''

/** Where the web application is: on the requested host, under the path of PUBLIC_URL, or at AUTH_ORIGIN. */
export function applicationBase({ pageOrigin, origin }: { pageOrigin: string | undefined; origin: string }): string {
  const isElsewhere = pageOrigin !== undefined && URL.canParse(origin) && new URL(origin).origin !== pageOrigin
  return isElsewhere ? pageOrigin : basePath(origin)
}

interface Page {
  text: string
  headers: Record<string, string>
}

/** A page without scripts. `body` is HTML: pass untrusted text through `escapeHtml`. */
type CreatePage = (title: string, body: string) => Page

/** Pages with this style, which is part of each: an error page needs no second request. */
export function pagesWith(style: string): CreatePage {
  const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policyFor(style) }
  return (title, body) => ({ text: pageText(style, title, body), headers })
}

const policyFor = (style: string): string =>
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const pageText = (style: string, title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<p class="brand">Rapport</p>
${body}
</main>
</body>
</html>
`

export const htmlPage = pagesWith(pageStyle)

export function errorPage(error: ApiError, { requestId, home }: { requestId: string; home: string }): Page {
  const { status, message, description } = error.body()
  return htmlPage(
    `${message} · Rapport`,
    `<h1>${status} ${escapeHtml(message)}</h1>
<p>${escapeHtml(description)}</p>
<p>Request id: <code>${escapeHtml(requestId)}</code></p>
<p><a href="${escapeHtml(home)}">Go to the start page</a></p>`,
  )
}
