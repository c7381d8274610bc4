import { existsSync } from 'node:fs'

const installed = '/usr/bin/chromium'

/**
 * The browser that tests drive, or undefined where there is none: `test.skipIf(!chromium)`, which `npm test` tells with
 * its reason. Where everything has to be there (CI), its absence is an error.
 */
export const chromium: string | undefined = existsSync(installed) ? installed : undefined

if (!chromium && process.env.CI) throw new Error(`Chromium is not at ${installed}, and CI has to run every test.`)
