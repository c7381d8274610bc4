import { existsSync } from 'node:fs'
import { type Browser, type CDPSession, chromium as playwright, type Page } from 'playwright-core'
import { excludeFromPool } from './page-pool.ts'

/**
 * Debian's, otherwise that of CHROMIUM_PATH. The headless shell is the same engine without a user interface; a page
 * takes a fifth of the time.
 */
const candidates = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', process.env.CHROMIUM_PATH ?? '']

/**
 * Path of the browser that tests use; undefined if it is not installed: `test.skipIf(!chromium)`. In CI, its absence is
 * an error.
 */
export const chromium = candidates.find((path) => existsSync(path))

if (!chromium && process.env.CI) throw new Error('Install chromium, or set CHROMIUM_PATH: CI must run every test.')

/**
 * Starts the browser, with more arguments and without the services that would look for a network. The caller closes it.
 */
export const launchChromium = (...more: string[]): Promise<Browser> =>
  playwright.launch({
    executablePath: chromium ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Pages are drawn in one step by one thread, which takes a sixth less processor time.
      '--num-raster-threads=1',
      '--disable-threaded-animation',
      '--disable-checker-imaging',
      ...more,
    ],
  })

/**
 * Without the compilers for code that runs often: a page of a test ends before their work pays. A load takes a tenth
 * less processor time in the page's process, and so does axe.
 */
const forShortPages = '--js-flags=--no-opt --no-maglev'

let shared: Promise<Browser> | undefined

/**
 * The browser that the test files of this process share, because starting one takes a second. A test uses contexts of its
 * own, and nothing but the end of the process closes the browser.
 */
export const sharedChromium = async (): Promise<Browser> => {
  shared ??= launchChromium(forShortPages)
  const browser = await shared
  if (!browser.isConnected()) shared = launchChromium(forShortPages)
  return shared
}

/** Gives the page a device that creates and uses passkeys by itself. Returns its id and what controls it. */
export async function addAuthenticator(page: Page): Promise<{ devtools: CDPSession; authenticatorId: string }> {
  excludeFromPool(page)
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { devtools, authenticatorId }
}
