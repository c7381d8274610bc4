import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import compileMessage from 'icu-minify/compile'
import { defineConfig, type Plugin } from 'vite'

const service = process.env.SERVICE ?? 'http://localhost:4000'
const proxied = { target: service, headers: { origin: service } }

/** Precompiles the messages of the catalogue, so that browsers need not load the parser (10 kB). */
const compiledMessages: Plugin = {
  name: 'compiled messages',
  enforce: 'pre',
  transform: {
    filter: { id: /\/src\/messages\/\w+\/\w+\.json$/ },
    handler: (code) =>
      JSON.stringify(
        JSON.parse(code, (_, value: unknown) => (typeof value === 'string' ? compileMessage(value) : value)),
      ),
  },
}

/** Makes every part that is loaded later wait for the connection, and survive an upgrade. */
const patientImports: Plugin = {
  name: 'patient imports',
  enforce: 'pre',
  transform: {
    filter: { id: /\/web\/src\/.+\.tsx?$/ },
    handler(code) {
      const changed = code.replaceAll(/(?<!typeof )\bimport\(('\.{1,2}\/[^']+')\)/g, 'loadChunk(() => import($1))')
      if (changed === code) return undefined
      const path = JSON.stringify(join(import.meta.dirname, 'src/api/load-chunk.ts'))
      return { code: `import { loadChunk } from ${path}\n${changed}`, map: null }
    },
  },
}

/** The programs in a guide by file name: the application shows the text that the documentation has, and tests run. */
const guidePrograms: Plugin = {
  name: 'programs of guides',
  enforce: 'pre',
  transform: {
    filter: { id: /\/docs\/guides\/[\w-]+\.md$/ },
    handler(code) {
      const found = [...code.matchAll(/^```\w+ (\S+)\n(.*?)\n```$/gms)].map(([, file, text]) => [file, text])
      return {
        code: `export const programs = ${JSON.stringify(Object.fromEntries(found))}`,
        map: null,
        moduleType: 'js',
      }
    },
  },
}

/** Parts that the first page does not need: record parts, suggestions, the inbox, log-in, forms and settings. */
const laterParts = [
  /\/src\/(?:tasks|timeline|deals|settings|imports|inbox)\//,
  /\/src\/suggestions\/(?!pending-count)/,
  /\/src\/inbox\/(?!unread-count)/,
  /\/src\/access\/(?:(?!reauthenticate)[^/]+\.(?:tsx|css)|(?:passkeys|connection-id|profile\/queries)\.ts)$/,
  /\/src\/(?:api\/(?:names|permissions|timeline|post-once)|messages\/duration)\b/,
  /\/src\/(?:views\/(?:author|money-editor|property-input|reference-input)|ui\/(?:sortable-list|copy-field|number-field|password-field|form|form-draft|unsaved-guard|mentions))\b/,
]
const isOfFirstPage = (id: string): boolean => !laterParts.some((part) => part.test(id))

/** The service builds the application (scripts/build.mjs) and serves `dist`. Names contain a hash of the content. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [patientImports, react(), compiledMessages, guidePrograms],
  resolve: { alias: { 'use-intl/format-message': 'use-intl/format-message/format-only' } },
  build: {
    target: 'baseline-widely-available',
    // Inlined files would become data: URLs, which the Content-Security-Policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    // What several pages share is one file, and so are the frame around them, and what lists, forms and tasks consist
    // of: many small ones take more bytes, and a request each.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'shared', test: isOfFirstPage, minShareCount: 3, priority: 4 },
            { name: 'frame', test: /\/src\/(?:router|views\/record-name)\.tsx$/, priority: 3 },
            { name: 'list', test: /\/src\/resources\/list-page\.tsx$/, priority: 2 },
            {
              name: 'form',
              test: /\/src\/(?:ui\/form|views\/property-input|api\/(?:names|post-once|timeline))\.tsx?$/,
              priority: 2,
            },
            { name: 'tasks', test: /\/src\/tasks\/task-(?:row|dialog)\.tsx$/, priority: 1 },
          ],
        },
      },
    },
  },
  // `npx vite web` during development, beside a service. Its cookies need requests from its own origin.
  server: { proxy: { '/v5': proxied, '/auth': proxied, '/docs': proxied } },
})
