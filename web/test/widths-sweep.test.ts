import type { Page } from 'playwright-core'
import { beforeAll, expect } from 'vitest'
import { browserTest, useApplication } from './application.ts'
import { narrowScreens, squeezedAt, widths } from './narrow-screens.ts'
import { prepareRecords, type Records } from './screens.ts'

const { service, openPage, callAs } = useApplication()

let records: Records
beforeAll(async () => {
  records = await prepareRecords(service(), await callAs('owner', 'small'))
})

for (const locale of ['en-GB', 'de-DE']) {
  let page: Page | undefined
  for (const screen of narrowScreens) {
    browserTest(`${screen.name} is neither squeezed nor too wide from 320 to 2560 pixels in ${locale}`, async () => {
      page ??= await openPage({ stays: true, organization: 'small', locale, path: '/forgot-password' })
      expect(await squeezedAt(page, screen, records, widths)).toEqual([])
    })
  }
}
