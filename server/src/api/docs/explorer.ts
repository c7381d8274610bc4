import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { listTag } from '../../platform/http/protocol/etag.ts'
import { FixedText } from '../../platform/http/protocol/fixed-text.ts'
import type { RouteResponse, PublicRoute } from '../../platform/http/route.ts'
import { explorerStyle } from './explorer-style.ts'

// URLs are relative to /v5/swagger, so that a proxy can serve the service under a path.
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Rapport API explorer</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="swagger/swagger-ui.css">
    <link rel="stylesheet" href="swagger/colors.css">
    <script defer src="swagger/swagger-ui-bundle.js"></script>
    <script defer src="swagger/start.js"></script>
  </head>
  <body>
    <p class="guides"><a href="../docs">Guides</a></p>
    <main id="explorer"></main>
    <noscript>The explorer requires JavaScript. The OpenAPI document is at <a href="docs">docs</a>.</noscript>
  </body>
</html>
`

// Credentials entered under "Authorize" are forgotten with the page: a key does not belong in a browser's storage. The
// validator is disabled because it is an external server. Swagger UI resolves references with a general-purpose
// parser that reads the whole document again for each operation, about two seconds a click. Our references all point into
// this document and none of them is circular, so the plugin replaces them directly.
const start = `const description = new URL('../docs', document.currentScript.src).href

const lookUp = (spec, path) => path.reduce((part, step) => part?.[step], spec)

function resolve(part, spec) {
  if (Array.isArray(part)) return part.map((item) => resolve(item, spec))
  if (typeof part !== 'object' || part === null) return part
  if (typeof part.$ref !== 'string') {
    return Object.fromEntries(Object.entries(part).map(([name, inner]) => [name, resolve(inner, spec)]))
  }
  const steps = part.$ref.split('/').slice(1).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return resolve(lookUp(spec, steps), spec)
}

// Every response has these headers. Shown for each status of an operation, they would be half of the page.
const common = ['X-Request-Id', 'Version', 'RateLimit', 'RateLimit-Policy']

function withoutCommonHeaders(part) {
  for (const { headers } of Object.values(part?.responses ?? {})) for (const name of common) delete headers?.[name]
  return part
}

const quickReading = () => ({
  statePlugins: {
    spec: {
      wrapActions: { parseToJson: (_original, system) => (text) => system.specActions.updateJsonSpec(JSON.parse(text)) },
    },
  },
  fn: { resolveSubtree: async (spec, path) => ({ spec: withoutCommonHeaders(resolve(lookUp(spec, path), spec)), errors: [] }) },
  // Swagger UI loses the order of a parameter's properties.
  afterLoad({ fn }) {
    const { getProperties } = fn.jsonSchema202012
    fn.jsonSchema202012.getProperties = (...given) => {
      const properties = Object.entries(getProperties(...given))
      const isFilters = properties.some(([name]) => name.startsWith('filter.'))
      return Object.fromEntries(isFilters ? properties.sort(([left], [right]) => (left < right ? -1 : 1)) : properties)
    }
  },
})

const dark = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()

window.SwaggerUIBundle({
  url: description,
  dom_id: '#explorer',
  plugins: [quickReading],
  syntaxHighlight: false,
  deepLinking: true,
  docExpansion: 'none',
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
})

// A browser may keep the page for its Back button: clear credentials and data anyway.
addEventListener('pagehide', () => document.getElementById('explorer').replaceChildren())
addEventListener('pageshow', ({ persisted }) => persisted && location.reload())
`

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const packageFile = (name: string): Promise<string> =>
  readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${name}`), 'utf8')

/** The page of the API explorer. */
export const explorerPage = cachedResponse(async () => page, {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
})

/** The files that the page loads. */
export const explorerFiles: readonly PublicRoute[] = [
  explorerFile('swagger-ui.css', 'text/css', () => packageFile('swagger-ui.css')),
  explorerFile('colors.css', 'text/css', async () => explorerStyle),
  explorerFile('swagger-ui-bundle.js', 'text/javascript', () => packageFile('swagger-ui-bundle.js')),
  explorerFile('start.js', 'text/javascript', async () => start),
]

function explorerFile(name: string, mediaType: string, read: () => Promise<string>): PublicRoute {
  return {
    kind: 'public',
    host: 'api',
    needsDatabase: false,
    method: 'GET',
    path: `/v5/swagger/${name}`,
    operation: `explorer-${name.replace('.', '-')}`,
    summary: `A file of the API explorer: ${name}`,
    tag: 'documentation',
    params: {},
    query: { kind: 'none' },
    responses: { 200: { kind: 'text', mediaType } },
    handle: cachedResponse(read, { 'content-type': `${mediaType}; charset=utf-8` }),
  }
}

/** A response that stays the same while the service runs: created on first use, with an ETag. */
export function cachedResponse(
  make: () => Promise<string>,
  headers: Record<string, string>,
): () => Promise<RouteResponse> {
  let response: RouteResponse | undefined
  return async () => {
    if (response) return response
    const text = await make()
    response = {
      status: 200,
      fixedText: new FixedText(text),
      headers: { ...headers, etag: listTag(text), 'cache-control': 'no-cache' },
    }
    return response
  }
}
