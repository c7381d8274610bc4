import { pageStyle } from '../../platform/http/page-style.ts'
import type { PublicRequest, PublicRoute, Services } from '../../platform/http/route.ts'
import { escapeHtml } from '../../platform/http/escape-html.ts'
import { pageScript } from './page-script.ts'

/** The explorer is on the API's host; with AUTH_ORIGIN, this page is on a different one. */
function explorerOf({ pageOrigin, origin }: Services): string {
  const isElsewhere = pageOrigin !== undefined && new URL(origin).origin !== pageOrigin
  return isElsewhere ? `${origin}/v5/swagger` : '/v5/swagger'
}

const page = ({ services }: PublicRequest) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Your account · Rapport</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/account/style.css">
<script src="/account/start.js" type="module"></script>
</head>
<body data-explorer="${escapeHtml(explorerOf(services))}">
<main>
<p class="brand">Rapport</p>
<h1 id="heading" tabindex="-1">Your account</h1>
<p id="lead"></p>
<form id="form" hidden novalidate></form>
<p id="message" role="status"></p>
<output id="shown" hidden></output>
<p id="note"></p>
<ul id="next" class="next"></ul>
<noscript><p>This page requires JavaScript.</p></noscript>
</main>
</body>
</html>
`

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const file = (
  path: string,
  mediaType: string,
  textOf: (request: PublicRequest) => string,
  headers: Record<string, string> = {},
): PublicRoute => ({
  kind: 'public',
  host: 'auth',
  method: 'GET',
  path,
  operation: `accountPage${path.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
  summary: 'The page to which links in mails lead',
  tag: 'authentication',
  params: {},
  query: { kind: 'none' },
  responses: { 200: { kind: 'text', mediaType } },
  handle: async (request) => ({
    status: 200,
    text: textOf(request),
    headers: { 'content-type': `${mediaType}; charset=utf-8`, ...headers },
  }),
})

/** The page that printed and mailed links open. */
export const accountPage: readonly PublicRoute[] = [
  file('/account', 'text/html', page, { 'content-security-policy': contentSecurityPolicy }),
  file('/account/style.css', 'text/css', () => pageStyle),
  file('/account/start.js', 'text/javascript', () => pageScript),
]
