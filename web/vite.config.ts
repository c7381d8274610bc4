import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The service builds the application (scripts/build.mjs) and serves `dist`. Names contain a hash of the content. */
export default defineConfig({
  plugins: [react()],
  build: {
    target: 'baseline-widely-available',
    // Inlined files would be data: URLs, which the content security policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
  },
  // `npx vite web` during development; the service runs on its usual port.
  server: { proxy: { '/v5': 'http://localhost:8080', '/auth': 'http://localhost:8080' } },
})
