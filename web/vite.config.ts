import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const service = process.env.SERVICE ?? 'http://localhost:4000'
const proxied = { target: service, headers: { origin: service } }

/** The service builds the application (scripts/build.mjs) and serves `dist`. Names contain a hash of the content. */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'baseline-widely-available',
    // Inlined files would be data: URLs, which the content security policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
  },
  // `npx vite web` during development, beside a service. Its cookies need requests from its own origin.
  server: { proxy: { '/v5': proxied, '/auth': proxied } },
})
