import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, onTestFinished, test } from 'vitest'
import { startSession } from '../../server/src/identity/access/sessions.ts'
import { sql } from '../../server/src/platform/model/sql.ts'
import { chromium, sharedChromium } from '../../server/test/chromium.ts'
import { closeIdlePages, returnPage, takePage } from '../../server/test/page-pool.ts'
import { callAs, untilServed } from '../../server/test/people.ts'
import { type Call, startTestService, type TestService } from '../../server/test/service.ts'
import {
  createSeededDatabase,
  type OrganizationName,
  organizations,
  people,
  type Role,
  secret,
} from './seeded-database.ts'

/** A test in a browser: skipped if none is installed, which fails in CI (server/test/chromium.ts). */
export const browserTest = test.skipIf(!chromium)

export interface PageOptions {
  /** Default: the owner. `null`: nobody is logged in. */
  as?: Role | null
  /** Default: `large`, with 100,000 contacts. `small` has a few presentable ones, for pictures. */
  organization?: OrganizationName
  /** Default: `/`. */
  path?: string
  /** Default: light. */
  theme?: 'light' | 'dark'
  /** Default: 1440. Below 768, the page emulates a phone with a touch screen. */
  width?: number
  /** Default: 600, because a page takes time for everything in view, or 844 on a phone. */
  height?: number
  /** Whether the file's other tests use the page, too. Otherwise it is closed at the end of the test. */
  stays?: boolean
  locale?: string
  timezone?: string
  /** Stops the clock at this time; timers still run. */
  now?: string | Date
  /** Default: reduced, so that tests need not wait for animations. */
  motion?: 'reduce' | 'no-preference'
}

export interface Application {
  service(): TestService
  /** A loaded page with its own context and session. */
  openPage(options?: PageOptions): Promise<Page>
  /** A second page in the context of another one, like a new tab. */
  openTab(page: Page, path?: string): Promise<Page>
  /** Calls the API as a person in one of the organizations. */
  callAs(role?: Role, organization?: OrganizationName): Promise<Call>
  /**
   * Permits the following errors on this page, because a browser logs each refused request. Other errors fail the test.
   */
  expectErrors(page: Page, expected: RegExp): void
}

/** What all files of a worker share: the service on a copy of the seeded database. They share the browser, too. */
interface Shared {
  service: TestService
  browser: Browser
}

let shared: Promise<Shared> | undefined

async function start(environment: Record<string, string> = {}): Promise<Shared> {
  const [service, browser] = await Promise.all([
    createSeededDatabase().then((database) =>
      startTestService({ IMPORT_WORKERS: '1', ...environment }, { ...database, secret }),
    ),
    sharedChromium(),
  ])
  return { service, browser }
}

/**
 * The application for the tests of a file: call it once, at the top. After each test, problems in any page fail the
 * test: uncaught errors, console messages such as those of the Content-Security-Policy, requests to other hosts.
 * `isAlone`: with a separate database and service, without records of other files, and with this environment.
 */
export function useApplication({
  isAlone = false,
  environment,
}: { isAlone?: boolean; environment?: Record<string, string> } = {}): Application {
  const staying: Page[] = []
  const errors: string[] = []
  const expected = new Map<Page, RegExp[]>()
  let running: Shared | undefined
  beforeAll(async () => {
    if (!chromium) return
    if (!isAlone) shared ??= start()
    running = await (isAlone ? start(environment) : shared)
  })
  afterEach(() => {
    const found = errors.splice(0)
    if (found.length > 0) throw new Error(`Errors of a page:\n${found.join('\n')}`)
  })
  afterAll(async () => {
    await Promise.all(staying.map((page) => (isAlone ? page.context().close() : returnPage(page))))
    if (isAlone && running) {
      await closeIdlePages(running.service.url)
      await running.service.close()
    }
  })
  const get = (): Shared => {
    if (!running) throw new Error('The application starts before the first test: use it in tests and hooks only.')
    return running
  }
  const watch = (page: Page): void => {
    const report = (text: string) => {
      if (overloaded.test(text)) return
      if (!expected.get(page)?.some((pattern) => pattern.test(text))) errors.push(text)
    }
    page.on('pageerror', (error) => report(`Uncaught ${error.stack ?? error.message}`))
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        report(`Console: ${message.text()} (${message.location().url})`)
    })
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.protocol.startsWith('http') && url.origin !== get().service.url) report(`Request to ${url.origin}`)
    })
  }
  return {
    service: () => get().service,
    async openPage(options = {}) {
      const { service, browser } = get()
      const page = await takePage(browser, contextOptions(service.url, options))
      const context = page.context()
      if (options.stays) staying.push(page)
      else onTestFinished(() => (expected.delete(page), returnPage(page)))
      context.setDefaultTimeout(15_000)
      context.on('page', watch)
      watch(page)
      const { as = 'owner', organization = 'large', path = '/', now } = options
      if (as !== null) await context.addCookies([await cookieFor(service, as, organization)])
      if (now !== undefined) await page.clock.setFixedTime(now)
      await page.goto(path)
      await page.locator('h1').first().waitFor()
      return page
    },
    async openTab(page, path = '/') {
      const tab = await page.context().newPage()
      await tab.goto(path)
      await tab.locator('h1').first().waitFor()
      return tab
    },
    async callAs(role = 'owner', organization = 'large') {
      const { service } = get()
      const { refreshToken } = await newSession(service, role, organization)
      const { body } = await patient(service.anonymous)('POST', '/auth', { body: { token: refreshToken } })
      return patient(callAs(service, body.accessToken))
    },
    expectErrors(page, pattern) {
      expected.set(page, [...(expected.get(page) ?? []), pattern])
    },
  }
}

/** A browser's log message when the service refuses a request temporarily; the page then retries it. */
const overloaded = /^Console: .*status of 503/

/** Browsers make the machine busy: repeats what is refused for that reason, and a read that takes too long. */
const patient =
  (call: Call): Call =>
  async (method, ...request) => {
    const send = () => untilServed(() => call(method, ...request))
    const answer = await send()
    return method === 'GET' && answer.body?.code === 'timeout' ? send() : answer
  }

function contextOptions(baseURL: string, options: PageOptions) {
  const { theme = 'light', width = 1440, height = width < 768 ? 844 : 600 } = options
  const { locale = 'en-GB', timezone = 'Europe/Berlin', motion = 'reduce' } = options
  const isPhone = width < 768
  return {
    baseURL,
    viewport: { width, height },
    locale,
    timezoneId: timezone,
    colorScheme: theme,
    reducedMotion: motion,
    hasTouch: isPhone,
    isMobile: isPhone,
    permissions: ['clipboard-read', 'clipboard-write'],
  }
}

/** A new session for each context, because a refresh token can be used once. */
async function cookieFor(service: TestService, role: Role, organization: OrganizationName) {
  const { refreshToken } = await newSession(service, role, organization)
  return { name: 'rapport', value: refreshToken, url: service.url, httpOnly: true, sameSite: 'Strict' as const }
}

/** Logs in without the deliberately slow password check. */
const newSession = ({ database }: TestService, role: Role, organization: OrganizationName) =>
  database.crossTenantTransaction('check the database', async (db) => {
    const [found] = await db.query<{ userId: string; organizationId: string }>(
      sql`select users.id as "userId", organizations.id as "organizationId" from users, organizations
        where users.email = ${people[role].email} and organizations.name = ${organizations[organization]}`,
    )
    if (!found) throw new Error(`There is no ${role} of ${organizations[organization]}.`)
    return startSession(db, { secret, ...found })
  })
