import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { differingPixels, picturesFolder, renderingOf, takePicture } from './pictures.ts'
import { now, prepareRecords, type Records, type Screen, screens, show, useTheme } from './screens.ts'

const { service, openPage, callAs, expectErrors } = useApplication({ isAlone: true })

/** `npm run pictures` takes new ones. */
const isWriting = process.env.PICTURES === 'write'
const maxDifferingPixels = 40

/** Pages that are narrow next to the navigation: also at 1024 and 768 pixels, in the light theme. */
const onTablets = ['contacts', 'contact', 'suggestions']
/** The variants that are compared: both themes, at desktop and phone width. */
const compared = [
  'login',
  'home',
  'contacts',
  'contact',
  'companies',
  'company',
  'deals',
  'deals-board',
  'deal',
  'campaigns',
  'imports',
  'import',
  'teams',
  'pipeline',
  'suggestions',
]
/** Only in the documentation, not compared: they contain the log-in time or new ids, or are as simple as the log-in. */
const documented = [
  'forgot-password',
  'sign-up',
  'account-link',
  'single-sign-on',
  'no-organization',
  'logout',
  'profile',
  'inbox',
  'inbox-settings',
  // The service determines with its own clock which tasks are overdue.
  'tasks',
  'view',
  'campaign',
  'pipelines',
  'next-actions',
  'properties',
  'organization',
  'members',
  'invitations',
  'roles',
  'role',
  'api-keys',
  'webhooks',
  'webhook',
  'webhook-form',
  'webhook-delivery',
  'sso-connections',
  'audit-log',
  'outbox',
  'system',
]

const environmentFile = join(picturesFolder, 'environment.json')

let records: Records
let rendering: string
beforeAll(async () => {
  records = await prepareRecords(service(), await callAs('owner', 'small'))
  const page = await pageFor({}, 1440)
  const browser = page.context().browser()
  if (!browser) throw new Error('The page has no browser.')
  rendering = await renderingOf(browser)
  if (!isWriting) return
  rmSync(picturesFolder, { recursive: true, force: true })
  mkdirSync(picturesFolder, { recursive: true })
  writeFileSync(environmentFile, `${JSON.stringify({ chromium: browser.version(), rendering }, undefined, 2)}\n`)
})

for (const screen of screens.filter(({ name }) => compared.includes(name))) {
  browserTest(`${screen.name} looks as in its pictures`, async ({ skip }) => {
    const environment = isWriting ? { rendering } : JSON.parse(readFileSync(environmentFile, 'utf8'))
    skip(
      environment.rendering !== rendering,
      `The pictures are of Chromium ${environment.chromium} with other fonts or another smoothing.`,
    )
    for (const width of onTablets.includes(screen.name) ? [1440, 1024, 768, 390] : [1440, 390]) {
      const page = await pageFor(screen, width)
      await show(page, screen, records)
      for (const theme of width === 1024 || width === 768 ? (['light'] as const) : (['light', 'dark'] as const)) {
        await useTheme(page, theme)
        const picture = await takePicture(page)
        const file = join(picturesFolder, `${screen.name}-${theme}-${width}.png`)
        if (isWriting) writeFileSync(file, picture)
        else compare(picture, file)
      }
    }
  })
}

if (isWriting) {
  browserTest('the other pages get a few records', async () => {
    const call = await callAs('owner', 'small')
    await call('POST', '/v5/invitations', { body: { email: 'emmy@example.com', role: 'admin' } })
    await call('POST', '/v5/roles', {
      body: {
        name: 'Field sales',
        description: 'Visits customers',
        scopes: ['contact:*:read', 'contact:*:write', 'deal:*:read', 'deal:*:write'],
        reach: { contact: 'team', deal: 'own' },
      },
    })
    await call('POST', '/v5/api-keys', {
      body: { name: 'Website forms', scopes: ['urn:service:contact:create:write'] },
    })
  })
}

for (const screen of isWriting ? screens.filter(({ name }) => documented.includes(name)) : []) {
  browserTest(`a picture of ${screen.name} is taken`, async () => {
    // Their records are created today, not on the day of the demo data.
    const page = await pageFor(screen, 1440, new Date().toISOString())
    // A dead link is one of the pages.
    expectErrors(page, /status of 4\d\d/)
    await page.route('**/v5/system', withoutTestFindings)
    await show(page, screen, records)
    await useTheme(page, 'light')
    writeFileSync(join(picturesFolder, `${screen.name}.png`), await takePicture(page))
  })
}

function compare(picture: Buffer, file: string): void {
  const differing = differingPixels(picture, readFileSync(file))
  if (differing !== undefined && differing <= maxDifferingPixels) return
  const actual = join(tmpdir(), `actual-${file.split('/').at(-1)}`)
  writeFileSync(actual, picture)
  expect.fail(
    `${differing ?? 'All'} pixels differ from ${file}. Look at ${actual}; if it is right, run npm run pictures.`,
  )
}

const pages = new Map<string, Promise<Page>>()
async function pageFor(
  { as = 'owner', organization = 'small' }: Pick<Screen, 'as' | 'organization'>,
  width: number,
  at: string | undefined = now,
) {
  const key = `${as} ${organization} ${width} ${at}`
  const known =
    pages.get(key) ??
    openPage({
      stays: true,
      as,
      organization,
      width,
      height: width < 768 ? 844 : 900,
      path: '/forgot-password',
      ...(at && { now: at }),
    })
  pages.set(key, known)
  const page = await known
  // The application checks whether the person is logged in.
  if (as === null) expectErrors(page, /status of 401/)
  return page
}

/** Hides problems of the tests' temporary database, which are not typical. */
async function withoutTestFindings(route: Route): Promise<void> {
  const response = await route.fetch()
  const { findings, ...status } = (await response.json()) as { findings: { name: string }[] }
  const shown = findings.filter(({ name }) => !/data|fitness|secret/i.test(name))
  await route.fulfill({ response, json: { ...status, findings: shown } })
}
