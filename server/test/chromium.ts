import { existsSync } from 'node:fs'

const installed = '/usr/bin/chromium'

/**
 * Path of the browser that tests use; undefined if it is not installed: `test.skipIf(!chromium)`. In CI, its absence is
 * an error.
 */
export const chromium: string | undefined = existsSync(installed) ? installed : undefined

if (!chromium && process.env.CI) throw new Error(`Chromium not found at ${installed}; CI must run every test.`)
