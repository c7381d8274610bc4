import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { listTag } from '../../platform/http/etag.ts'
import type { Answer, PublicRoute } from '../../platform/http/route.ts'

// Addresses are relative to /v5/swagger, so that a proxy may put the service under a path of its own.
const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Rapport API explorer</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="swagger/swagger-ui.css">
    <script defer src="swagger/swagger-ui-bundle.js"></script>
    <script defer src="swagger/start.js"></script>
  </head>
  <body>
    <main id="explorer"></main>
    <noscript>The explorer needs JavaScript. The description itself is at <a href="docs">docs</a>.</noscript>
  </body>
</html>
`

// What is typed under "Authorize" is forgotten with the page: a key does not belong into a browser's storage. The
// validator is someone else's server. The plugin gives what the selector it wraps gives, but merges the one parameter that
// is asked for: Swagger UI merges all of them for each, which took seconds a click with a list's 260.
const start = `const description = new URL('../docs', document.currentScript.src).href

const quickParameters = () => ({
  statePlugins: {
    spec: {
      wrapSelectors: {
        parameterWithMetaByIdentity: (original, { specSelectors }) => (state, operation, parameter) => {
          const place = parameter.get('in')
          const name = parameter.get('name')
          const declared = specSelectors.specJsonWithResolvedSubtrees().getIn(['paths', ...operation, 'parameters'])
          const found = declared?.find((one) => one.get('name') === name && one.get('in') === place)
          if (!found) return original(state, operation, parameter)
          const typed = state.getIn(['meta', 'paths', ...operation, 'parameters'])
          const key = place + '.' + name
          return found.merge(typed?.get(key) ?? {}, typed?.get(key + '.hash-' + parameter.hashCode()) ?? {})
        },
      },
    },
  },
})

window.SwaggerUIBundle({
  url: description,
  dom_id: '#explorer',
  plugins: [quickParameters],
  deepLinking: true,
  docExpansion: 'none',
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
})
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
export const explorerPage = answerOnce(async () => page, {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': contentSecurityPolicy,
  'referrer-policy': 'no-referrer',
})

/** The files that the page loads: served, but no operations of the API. */
export const explorerFiles: readonly PublicRoute[] = [
  explorerFile('swagger-ui.css', 'text/css', () => packageFile('swagger-ui.css')),
  explorerFile('swagger-ui-bundle.js', 'text/javascript', () => packageFile('swagger-ui-bundle.js')),
  explorerFile('start.js', 'text/javascript', async () => start),
]

function explorerFile(name: string, mediaType: string, read: () => Promise<string>): PublicRoute {
  return {
    kind: 'public',
    host: 'api',
    method: 'GET',
    path: `/v5/swagger/${name}`,
    operation: name,
    summary: `A file of the API explorer: ${name}`,
    tag: 'documentation',
    params: {},
    query: { kind: 'none' },
    answers: { 200: { kind: 'text', mediaType } },
    handle: answerOnce(read, { 'content-type': `${mediaType}; charset=utf-8` }),
  }
}

/** A text that stays the same while the service runs: made at its first use, asked for again with its tag. */
export function answerOnce(make: () => Promise<string>, headers: Record<string, string>): () => Promise<Answer> {
  let answer: Answer | undefined
  return async () => {
    if (answer) return answer
    const text = await make()
    answer = { status: 200, text, headers: { ...headers, etag: listTag(text), 'cache-control': 'no-cache' } }
    return answer
  }
}
