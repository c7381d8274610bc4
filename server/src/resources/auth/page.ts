import type { PublicRoute } from '../../platform/http/route.ts'
import { pageScript } from './page-script.ts'

const page = `<!doctype html>
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
<body>
<main>
<p class="brand">Rapport</p>
<h1 id="heading" tabindex="-1">Your account</h1>
<p id="lead">This page needs JavaScript.</p>
<form id="form" hidden novalidate></form>
<p id="message" role="status"></p>
</main>
</body>
</html>
`

const style = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; --line: #c9ccd3; --ink: #17181c; --soft: #565a66; --paper: #fff; --back: #f4f5f7; --key: #2f4bd8; --bad: #b3161b }
@media (prefers-color-scheme: dark) { :root { --line: #434754; --ink: #ececf0; --soft: #a8acb9; --paper: #1c1d22; --back: #131418; --key: #93a5ff; --bad: #ff9a94 } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: start center; padding: 8vh 1rem 2rem; background: var(--back); color: var(--ink) }
main { width: min(26rem, 100%); padding: 2rem; background: var(--paper); border: 1px solid var(--line); border-radius: 12px }
.brand { margin: 0 0 1.5rem; font-weight: 600; color: var(--soft) }
h1 { margin: 0 0 .5rem; font-size: 1.4rem; line-height: 1.25; outline: none }
p { margin: 0 0 1rem; color: var(--soft); overflow-wrap: anywhere }
label { display: block; margin: 1rem 0 .25rem; font-weight: 500 }
input { width: 100%; padding: .55rem .7rem; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 8px }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--key); outline-offset: 2px }
input[aria-invalid=true] { border-color: var(--bad) }
.hint, .fault { margin: .25rem 0 0; font-size: .875rem }
.fault, #message.bad { color: var(--bad) }
button { margin-top: 1.5rem; width: 100%; padding: .65rem; font: inherit; font-weight: 600; color: var(--paper); background: var(--key); border: 0; border-radius: 8px; cursor: pointer }
button[disabled] { opacity: .6; cursor: progress }
#message { margin: 1rem 0 0 }
a { color: var(--key) }
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

const file = (path: string, mediaType: string, text: string, headers: Record<string, string> = {}): PublicRoute => ({
  kind: 'public',
  host: 'auth',
  method: 'GET',
  path,
  operation: `accountPage${path.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
  summary: 'The page that links in mails lead to',
  tag: 'authentication',
  params: {},
  query: { kind: 'none' },
  answers: { 200: { kind: 'text', mediaType } },
  handle: async () => ({ status: 200, text, headers: { 'content-type': `${mediaType}; charset=utf-8`, ...headers } }),
})

/** Where the links lead that are printed and mailed: served, but no operations of the API. */
export const accountPage: readonly PublicRoute[] = [
  file('/account', 'text/html', page, { 'content-security-policy': contentSecurityPolicy }),
  file('/account/style.css', 'text/css', style),
  file('/account/start.js', 'text/javascript', pageScript),
]
